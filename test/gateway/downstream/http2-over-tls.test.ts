import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { connect, type ClientHttp2Session } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { ListenSettings } from '../../../src/config/listen-settings.ts'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../../identity/mtls/test-certificates.ts'
import type { Field } from '../../support/hpack.ts'
import { errorCodes } from '../../support/http2-frames.ts'
import { receiveHead } from '../support/http2-client.ts'
import type { GatewaySetup } from '../support/open-gateway.ts'
import { openRawHttp2 } from '../support/raw-http2.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { createDeferred } from '../support/waiting.ts'
import { eventually } from '../../support/eventually.ts'

const loader = 'spiffe://cluster.example/loader'
const stranger = 'spiffe://cluster.example/stranger'
/** Less than the keep-alive timeout. */
const timeoutMs = 10_000

async function describeTable(session: ClientHttp2Session) {
  const stream = session.request({ ':method': 'POST', ':path': '/v1/table/prod$orders/describe' })
  stream.end()
  const { statusCode } = await receiveHead(stream)
  return { status: statusCode, text: await text(stream) }
}

describe.skipIf(!hasOpenssl())('HTTP/2 over TLS (skipped without openssl)', () => {
  let folder = ''
  let own: TestAuthority
  let server: TestCertificate
  let good: TestCertificate
  let other: TestCertificate
  const file = (name: string): string => join(folder, name)

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'http2-tls-'))
    own = await makeAuthority(folder, 'own')
    server = await own.issue('server', 'IP:127.0.0.1', { usage: 'serverAuth' })
    good = await own.issue('good', `URI:${loader}`, { usage: 'clientAuth' })
    other = await own.issue('other', `URI:${stranger}`, { usage: 'clientAuth' })
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** Callers are known by their certificate; the loader may read. */
  async function startGateway(listen: Partial<ListenSettings> = {}) {
    await writeFile(file('revoked.pem'), await own.revocationList([]))
    await copyFile(own.certFile, file('clients.pem'))
    const rule = {
      id: 'read',
      effect: 'allow' as const,
      subjects: { users: [`mesh:${loader}`] },
      operations: ['read'],
    }
    const setup: GatewaySetup = {
      policies: [{ name: 'loaders', namespace: ['prod'], onDeny: 403, rules: [rule] }],
      adjust: (settings) => ({
        ...settings,
        listen: {
          ...settings.listen,
          tls: {
            certFile: server.certFile,
            keyFile: server.keyFile,
            clientAuth: 'optional',
            clientCaFile: file('clients.pem'),
            clientCrlFile: file('revoked.pem'),
          },
          ...listen,
        },
        identity: { ...settings.identity, clientCertificates: { name: 'mesh' } },
      }),
    }
    return startGatewayAndUpstream(setup)
  }

  function openSession(url: string, certificate?: TestCertificate): ClientHttp2Session {
    const session = connect(url, {
      ca: own.cert,
      ...(certificate && { cert: certificate.cert, key: certificate.key }),
    })
    session.on('error', () => undefined)
    onTestFinished(() => session.destroy())
    return session
  }

  /** The protocol that the gateway chooses. */
  async function negotiate(url: string, offered: readonly string[]): Promise<string | false | null> {
    const { hostname, port } = new URL(url)
    const socket = connectTls({
      host: hostname,
      port: Number(port),
      ca: own.cert,
      ALPNProtocols: [...offered],
    })
    onTestFinished(() => void socket.destroy())
    await once(socket, 'secureConnect')
    return socket.alpnProtocol
  }

  it('is offered by default, and is chosen by clients that offer both', async () => {
    const { gateway } = await startGateway()
    expect(await negotiate(gateway.url, ['http/1.1', 'h2'])).toBe('h2')
    expect(await negotiate(gateway.url, ['http/1.1'])).toBe('http/1.1')
    expect(await negotiate(gateway.url, [])).toBe(false)
  })

  it('is not offered if it is disabled', async () => {
    const { gateway } = await startGateway({ http2: false })
    expect(await negotiate(gateway.url, ['h2', 'http/1.1'])).toBe('http/1.1')
    await expect(negotiate(gateway.url, ['h2'])).rejects.toThrow()
  })

  it.each(['own', 'node'] as const)('HTTP/1.1 is still served (parser: %s)', async (parser) => {
    const { gateway } = await startGateway({ parser })
    const { hostname, port } = new URL(gateway.url)
    const socket = connectTls({
      host: hostname,
      port: Number(port),
      ca: own.cert,
      ALPNProtocols: ['http/1.1'],
    })
    onTestFinished(() => void socket.destroy())
    let received = ''
    socket.on('data', (chunk: Buffer) => (received += chunk))
    socket.write('GET /v1/table HTTP/1.1\r\nhost: g\r\n\r\n')
    await eventually(() => expect(received).toMatch(/^HTTP\/1\.1 401 /))
  })

  it('the principal of every stream is that of the certificate', async () => {
    const { gateway, upstream } = await startGateway()
    const sessions = [
      openSession(gateway.url, good),
      openSession(gateway.url, other),
      openSession(gateway.url),
    ]
    const responses = await Promise.all(
      sessions.flatMap((session) => [describeTable(session), describeTable(session)]),
    )
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 403, 403, 401, 401])
    expect(upstream.requests).toHaveLength(2)
  })

  it('a session ends when its certificate is revoked, after its open streams', async () => {
    const { gateway, upstream } = await startGateway()
    const finish = createDeferred()
    const [idle, busy, without] = [
      openSession(gateway.url, good),
      openSession(gateway.url, good),
      openSession(gateway.url),
    ]
    expect((await describeTable(idle)).status).toBe(200)
    expect((await describeTable(without)).status).toBe(401)
    upstream.answering = (_arrival, response) => finish.promise.then(() => response.end('{}'))
    const response = describeTable(busy)
    await eventually(() => expect(upstream.requests).toHaveLength(2))
    const started = performance.now()
    await writeFile(file('revoked.pem'), await own.revocationList([good]))
    await eventually(() => expect([idle.destroyed, busy.closed]).toEqual([true, true]))
    expect(performance.now() - started).toBeLessThan(timeoutMs)
    await expect(describeTable(busy)).rejects.toThrow()
    finish.resolve(undefined)
    expect(await response).toEqual({ status: 200, text: '{}' })
    await eventually(() => expect(busy.destroyed).toBe(true))
    await expect(describeTable(openSession(gateway.url, good))).rejects.toThrow()
    expect((await describeTable(without)).status).toBe(401)
    expect(upstream.requests).toHaveLength(2)
  })
  it('a client that ignores the revocation of its certificate is served no further stream', async () => {
    const { gateway, upstream } = await startGateway()
    const finish = createDeferred()
    upstream.answering = (_arrival, response) => finish.promise.then(() => response.end('{}'))
    const { cert, key } = good
    const connection = await openRawHttp2(gateway.url, [], { ca: own.cert, cert, key })
    const describing: Field[] = [
      [':method', 'POST'],
      [':path', '/v1/table/prod$orders/describe'],
    ]
    await connection.request(1, describing)
    await eventually(() => expect(upstream.requests).toHaveLength(1))
    await writeFile(file('revoked.pem'), await own.revocationList([good]))
    await eventually(() => expect(connection.goaways()).toEqual([errorCodes.noError]))
    await connection.request(3, describing)
    finish.resolve(undefined)
    expect(await connection.waitForEnd(1)).toBe('complete')
    await eventually(() => expect(connection.isClosed()).toBe(true))
    expect(connection.status(3)).toBeUndefined()
    expect(upstream.requests).toHaveLength(1)
  })
})
