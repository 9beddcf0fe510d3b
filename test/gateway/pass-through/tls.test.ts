import { once } from 'node:events'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../../identity/mtls/test-certificates.ts'
import { expectError } from '../support/expect-error.ts'
import { connectToPort, startGatewayWithRoute } from '../support/pass-through-gateway.ts'
import { startRecordingUpstream } from '../support/recording-upstream.ts'

const alice = 'spiffe://corp.example/alice'
const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }

describe.skipIf(!hasOpenssl())('TLS of pass-through routes (skipped without openssl)', () => {
  let folder = ''
  let own: TestAuthority
  let foreign: TestAuthority
  let server: TestCertificate
  let client: TestCertificate

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'routes-'))
    own = await makeAuthority(folder, 'own')
    foreign = await makeAuthority(folder, 'foreign')
    // Node reports a certificate that does not match by all of its names, at length.
    server = await own.issue('server', 'IP:127.0.0.1')
    client = await own.issue('alice', `URI:${alice}`, { usage: 'clientAuth' })
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** With a route that everybody with a certificate may use. */
  async function startGateway() {
    const clientCaFile = join(folder, 'clients.pem')
    await copyFile(own.certFile, clientCaFile)
    const { certFile, keyFile } = server
    const { gateway, application } = await startGatewayWithRoute({
      route: { allow: { users: [`mesh:${alice}`] }, methods: ['GET', 'POST'] },
      listen: { tls: { certFile, keyFile, clientAuth: 'optional', clientCaFile } },
      adjust: (settings) => ({
        ...settings,
        identity: { ...settings.identity, clientCertificates: { name: 'mesh', sanType: 'uri' } },
      }),
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

  it('the certificate of an upstream is verified by outbound.caFile', async () => {
    const application = await startRecordingUpstream(server)
    onTestFinished(() => application.close())
    for (const [authority, status] of [
      [own, 200],
      [foreign, 502],
    ] as const) {
      const { port } = await startGatewayWithRoute({
        route: { upstream: `${application.url}/console` },
        adjust: (settings) => ({ ...settings, outbound: { caFile: authority.certFile } }),
      })
      expect(await port.get('/ui')).toMatchObject({ status })
    }
    expect(application.requests).toHaveLength(1)
  })
})
