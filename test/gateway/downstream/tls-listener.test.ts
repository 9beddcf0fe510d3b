import { copyFile } from 'node:fs/promises'
import { once } from 'node:events'
import { connect, type ConnectionOptions, type PeerCertificate } from 'node:tls'
import { Pool } from 'undici'
import { describe, expect, it } from 'vitest'
import { arrowBytes } from '../../support/arrow-upload.ts'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../../identity/mtls/test-certificates.ts'
import { countRefusals } from '../support/count-refusals.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream, useSharedGateway } from '../support/running-gateway.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const request = 'GET /v1/table HTTP/1.1\r\nhost: g\r\nconnection: close\r\n\r\n'

/** The received text, peer certificate, protocol version and protocol by ALPN. Rejects if the connection fails. */
function overTls(url: string, options: ConnectionOptions) {
  const { hostname, port } = new URL(url)
  return new Promise<{
    text: string
    subject: string
    version: string | null
    protocol: string | false | null
  }>((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), ...options }, () => socket.write(request))
    let text = ''
    let peer: PeerCertificate | undefined
    let version: string | null = null
    socket.once('secureConnect', () => {
      peer = socket.getPeerCertificate()
      version = socket.getProtocol()
    })
    socket.on('data', (chunk: Buffer) => (text += chunk))
    socket.on('error', reject)
    socket.on('close', () => {
      if (text === '') reject(new Error('closed without an answer'))
      else resolve({ text, subject: String(peer?.subject.CN), version, protocol: socket.alpnProtocol })
    })
  })
}

const tlsOf = ({ certFile, keyFile }: TestCertificate) =>
  ({ tls: { certFile, keyFile, clientAuth: 'none' } }) as const

describe.skipIf(!hasOpenssl())('TLS from clients (skipped without openssl)', () => {
  let own: TestAuthority
  let first: TestCertificate
  let second: TestCertificate

  const shared = useSharedGateway({
    async adjust(settings, folder) {
      own = await makeAuthority(folder, 'own')
      first = await own.issue('first', 'IP:127.0.0.1')
      second = await own.issue('second', 'IP:127.0.0.1')
      return { ...settings, listen: { ...settings.listen, ...tlsOf(first) } }
    },
    // Long enough for the handshake of the last one on a busy machine.
    tuning: { clients: { headersTimeoutMs: 2_000 } },
  })

  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const

  it('serves requests over TLS 1.2 and 1.3 only, and counts failed handshakes', async () => {
    const { gateway } = shared
    expect(gateway.url).toMatch(/^https:/)
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const response = await overTls(gateway.url, { ca: own.cert, maxVersion: version, minVersion: version })
      expect(response).toMatchObject({
        text: expect.stringMatching(/^HTTP\/1\.1 401 /),
        subject: 'first',
        version,
      })
    }
    await expect(overTls(gateway.url, { ca: own.cert, ...old })).rejects.toThrow()
    await eventually(async () => expect(await countRefusals(gateway, 'tls_handshake')).toBe(1))
  })

  it.each([
    [['h2', 'http/1.1'], 'http/1.1'],
    [['http/1.1'], 'http/1.1'],
    [[], false],
  ])('a client that offers %j gets HTTP/1.1', async (offered, chosen) => {
    const response = await overTls(shared.gateway.url, { ca: own.cert, ALPNProtocols: offered })
    expect(response).toMatchObject({ text: expect.stringMatching(/^HTTP\/1\.1 401 /), protocol: chosen })
  })

  it('a client that prefers HTTP/2 sends JSON, an upload and a download', async () => {
    const { gateway, upstream } = shared
    const large = arrowBytes(2 * 1024 * 1024)
    const client = new Pool(gateway.url, { allowH2: true, connect: { ca: own.cert } })
    const requests: readonly [operation: string, body: Buffer, response: Buffer][] = [
      ['describe', Buffer.from('{"version":1}'), Buffer.from('{"location":"s3://orders"}')],
      ['insert', large, Buffer.from('{"version":2}')],
      ['query', Buffer.from('{"k":1}'), large],
    ]
    for (const [index, [operation, body, response]] of requests.entries()) {
      upstream.handler = respondWith(200, response)
      const received = await client.request({
        method: 'POST',
        path: `/v1/table/orders/${operation}`,
        headers: { 'x-api-key': gateway.key('dev') },
        body,
      })
      expect(received.statusCode).toBe(200)
      expect(Buffer.from(await received.body.bytes()).equals(response)).toBe(true)
      expect((await upstream.requests[index]?.body)?.equals(body)).toBe(true)
    }
    await client.close()
  })

  it('a client that insists on HTTP/2 is refused by the handshake', async () => {
    await expect(overTls(shared.gateway.url, { ca: own.cert, ALPNProtocols: ['h2'] })).rejects.toThrow()
  })

  it('refuses clients without a certificate of its authority, if it requires one', async () => {
    const clients = { clientAuth: 'required', clientCaFile: own.certFile } as const
    const { gateway } = await startGatewayAndUpstream({
      settings: { listen: { tls: { ...tlsOf(first).tls, ...clients } } },
    })
    const send = (certificate?: TestCertificate) =>
      overTls(gateway.url, { ca: own.cert, cert: certificate?.cert, key: certificate?.key })
    const foreign = await makeAuthority(await temporaryFolder(), 'foreign')
    await expect(send()).rejects.toThrow()
    await expect(send(await own.issue('expired', 'URI:spiffe://a/b', { days: -1 }))).rejects.toThrow()
    await expect(send(await foreign.issue('stranger', 'URI:spiffe://a/b'))).rejects.toThrow()
    expect(await send(await own.issue('client', 'URI:spiffe://a/b'))).toMatchObject({
      text: expect.stringMatching(/^HTTP\/1\.1 401 /),
    })
  })

  it('closes connections with incomplete handshakes for others', async () => {
    const { gateway } = await startGatewayAndUpstream({
      settings: { listen: tlsOf(first), limits: { maxConnections: 3 } },
    })
    const silent = Array.from({ length: 3 }, () => openRawConnection(gateway.url))
    for (const { socket } of silent) if (socket.connecting) await once(socket, 'connect')
    for (let count = 0; count < 3; count += 1)
      expect(await overTls(gateway.url, { ca: own.cert })).toMatchObject({ subject: 'first' })
  })

  it('uses changed files without a restart, and ignores mismatched ones', async () => {
    const live = { ...first, certFile: `${first.certFile}.live`, keyFile: `${first.keyFile}.live` }
    await copyFile(first.certFile, live.certFile)
    await copyFile(first.keyFile, live.keyFile)
    const { gateway } = await startGatewayAndUpstream({ settings: { listen: tlsOf(live) } })
    await copyFile(second.certFile, live.certFile)
    expect(await overTls(gateway.url, { ca: own.cert })).toMatchObject({ subject: 'first' })
    await copyFile(second.keyFile, live.keyFile)
    await eventually(async () =>
      expect(await overTls(gateway.url, { ca: own.cert })).toMatchObject({ subject: 'second' }),
    )
    await expect(overTls(gateway.url, { ca: own.cert, ...old })).rejects.toThrow()
  })

  it('closes and counts plain HTTP, garbage and silence on a TLS port', async () => {
    const { gateway } = shared
    const before = await countRefusals(gateway, 'tls_handshake')
    for (const bytes of [request, 'garbage\r\n', '']) {
      const connection = openRawConnection(gateway.url)
      connection.write(bytes)
      expect(await connection.waitForEnd()).not.toMatch(/HTTP/)
    }
    expect(await countRefusals(gateway, 'tls_handshake')).toBe(before + 3)
    expect(await overTls(gateway.url, { ca: own.cert })).toMatchObject({ subject: 'first' })
  })
})

it('rejects and counts TLS on a plain port', async () => {
  const { gateway } = await startGatewayAndUpstream()
  await expect(overTls(gateway.url.replace('http', 'https'), {})).rejects.toThrow()
  await eventually(async () => expect(await countRefusals(gateway, 'tls_on_plain_port')).toBe(1))
})
