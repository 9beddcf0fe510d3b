import type { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { openSocket, startEchoServer } from '../../lib/outbound/opened-socket.ts'
import { startConnectProxy, startScriptedProxy } from '../../support/connect-proxy.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const smuggled = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nowned'
const invalid = 'PROXY_RESPONSE_INVALID'

it.each<[what: string, sent: string, code: string]>([
  ['a response behind the head', `HTTP/1.1 200 OK\r\n\r\n${smuggled}`, invalid],
  ['a body with a length', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nowned', invalid],
  ['a chunked body', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nowned\r\n0\r\n\r\n', invalid],
  ['an interim response', `HTTP/1.1 100 Continue\r\n\r\n${smuggled}`, 'PROXY_REFUSED'],
  ['a redirect', 'HTTP/1.1 302 Found\r\nlocation: http://other.example/\r\n\r\n', 'PROXY_REFUSED'],
  ['a refusal with a body', 'HTTP/1.1 403 Forbidden\r\ncontent-length: 5\r\n\r\nowned', 'PROXY_REFUSED'],
  ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n\r\n', invalid],
  ['a status that is none', 'HTTP/1.1 20x OK\r\n\r\n', invalid],
  ['line feeds alone', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n', invalid],
  ['a head without end', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(100_000)}`, invalid],
])('%s fails the connection', async (_what, sent, code) => {
  const url = await startScriptedProxy((socket) => socket.write(sent))
  for (const isSecure of [true, false]) {
    const environment = { HTTPS_PROXY: url, HTTP_PROXY: url }
    const opening = openSocket({ isSecure, host: 'catalog.example', port: 443 }, { environment })
    await expect(opening).rejects.toMatchObject({ code })
    await expect(opening).rejects.not.toThrow(/owned/)
  }
})

it.each<[what: string, respond: (socket: Socket) => void, code: string]>([
  ['is silent', () => undefined, 'CONNECT_TIMEOUT'],
  ['sends its head slowly', (socket) => void socket.write('HTTP/1.1 200 OK\r\nx: '), 'CONNECT_TIMEOUT'],
  [
    'accepts, and never starts TLS',
    (socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\n'),
    'CONNECT_TIMEOUT',
  ],
  ['closes the connection', (socket) => void socket.destroy(), 'PROXY_UNREACHABLE'],
  ['closes it within the head', (socket) => void socket.end('HTTP/1.1 200 OK\r\n'), 'PROXY_UNREACHABLE'],
])('a proxy that %s fails the connection in time', async (_what, respond, code) => {
  const environment = { HTTPS_PROXY: await startScriptedProxy(respond) }
  const target = { isSecure: true, host: 'catalog.example', port: 443 }
  const timeoutMs = code === 'CONNECT_TIMEOUT' ? 500 : 20_000
  await expect(openSocket(target, { environment, timeoutMs })).rejects.toMatchObject({ code })
})

it.skipIf(!hasOpenssl())(
  'the certificate of another host is refused, also if its authority is trusted',
  async () => {
    const folder = await temporaryFolder()
    const authority = await makeAuthority(folder, 'company')
    const foreign = await makeAuthority(folder, 'foreign')
    const target = { isSecure: true, host: 'catalog.example', port: 443 }
    const open = async (served: { cert: string; key: string }) => {
      const proxy = await startConnectProxy({
        hosts: { 'catalog.example:443': await startEchoServer(served) },
      })
      return openSocket(target, { outbound: { caFile: authority.certFile, proxy: { url: proxy.url } } })
    }
    const other = await authority.issue('other', 'DNS:other.example')
    await expect(open(other)).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
    const unknown = await foreign.issue('unknown', 'DNS:catalog.example')
    await expect(open(unknown)).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' })
  },
)
