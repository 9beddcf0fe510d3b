import { once } from 'node:events'
import { copyFile } from 'node:fs/promises'
import { request as requestTls } from 'node:https'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket, type CloseEvent } from 'undici'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../../identity/mtls/test-certificates.ts'
import { expectError } from '../support/expect-error.ts'
import { connectToPort, startGatewayWithRoute } from '../support/pass-through-gateway.ts'
import { startRecordingUpstream } from '../support/recording-upstream.ts'
import { sharedFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const alice = 'spiffe://corp.example/alice'
const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }

describe.skipIf(!hasOpenssl())('TLS of pass-through routes (skipped without openssl)', () => {
  const folder = sharedFolder()
  let own: TestAuthority
  let foreign: TestAuthority
  let server: TestCertificate
  let client: TestCertificate

  beforeAll(async () => {
    own = await makeAuthority(folder, 'own')
    foreign = await makeAuthority(folder, 'foreign')
    // Node reports a certificate that does not match by all of its names, at length.
    server = await own.issue('server', 'IP:127.0.0.1')
    client = await own.issue('alice', `URI:${alice}`, { usage: 'clientAuth' })
  })

  /** With a route that only the user of the client certificate may use. */
  async function startGateway() {
    const clientCaFile = join(folder, 'clients.pem')
    await copyFile(own.certFile, clientCaFile)
    const { certFile, keyFile } = server
    const { gateway, application } = await startGatewayWithRoute({
      route: { allow: { users: [`mesh:${alice}`] }, methods: ['GET', 'POST', 'WEBSOCKET'] },
      settings: {
        listen: { tls: { certFile, keyFile, clientAuth: 'optional', clientCaFile } },
        identity: { clientCertificates: { name: 'mesh' } },
      },
    })
    const { cert, key } = client
    const port = connectToPort(gateway, { ca: own.cert, cert, key })
    return { gateway, application, port, clientCaFile }
  }

  it('a client certificate identifies the caller, and does not act for pages of other sites', async () => {
    const { port, application } = await startGateway()
    expect(await port.get('/ui', { as: null })).toMatchObject({ status: 200 })
    expect(application.requests.splice(0)).toHaveLength(1)
    const refused = { kind: 'PermissionDenied', says: 'evil.example' } as const
    expectError(await port.get('/ui', { as: null, headers: evil }), refused)
    expectError(await port.post('/ui', { as: null, headers: evil }), refused)
    const { cert, key } = client
    const request = requestTls(`${port.url}/ui`, {
      ca: own.cert,
      cert,
      key,
      agent: false,
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        origin: evil.origin,
      },
    }).end()
    const [response] = (await once(request, 'response')) as [{ statusCode: number; resume(): void }]
    response.resume()
    expect(response.statusCode).toBe(403)
    expect(application.requests).toEqual([])
  })

  it('connections are closed when the authorities of clients change', async () => {
    const { port, clientCaFile } = await startGateway()
    const { cert, key } = client
    const socket = connect({
      port: Number(new URL(port.url).port),
      host: '127.0.0.1',
      ca: own.cert,
      cert,
      key,
    })
    socket.on('error', () => undefined)
    await once(socket, 'secureConnect')
    await copyFile(foreign.certFile, clientCaFile)
    await once(socket, 'close')
    expectError(await port.get('/ui', { as: null }), { kind: 'Unauthenticated', says: 'certificate' })
  })

  it('a client of WebSocket is not told of the certificate, however long its names are', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `DNS:console-${index}.internal.example`)
    const application = await startRecordingUpstream(await own.issue('many', names.join(',')))
    onTestFinished(() => application.close())
    const { gateway, port } = await startGatewayWithRoute({
      route: { upstream: `${application.url}/console`, methods: ['GET', 'WEBSOCKET'] },
      settings: { outbound: { caFile: own.certFile } },
    })
    const headers = { 'x-api-key': gateway.key('dev') }
    const socket = new WebSocket(`${port.url.replace('http:', 'ws:')}/ui`, { headers })
    const [closed] = (await once(socket, 'close')) as [CloseEvent]
    expect(closed).toMatchObject({ code: 1011, reason: '' })
    await eventually(async () => expect(await port.get('/ui')).toMatchObject({ status: 502 }))
  })
})
