import { request } from 'node:http'
import type { Socket } from 'node:net'
import { ConnectError } from './connect-error.ts'
import type { OutboundTarget, Proxy } from './find-proxy.ts'

const maxHeadBytes = 16_384

/**
 * Requests a tunnel to a host on a connection to a proxy (CONNECT, RFC 9110 section 9.3.6), which may still be
 * connecting. Calls back once with the connection, which then leads to the host, or with ConnectError. Nothing that the
 * proxy sends besides the head of its response reaches the caller.
 */
export function openTunnel(
  connection: Socket,
  { url, authorization }: Proxy,
  target: OutboundTarget,
  callback: (error: ConnectError | null) => void,
): void {
  const { host, port } = target
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const fail = (code: ConstructorParameters<typeof ConnectError>[0], problem: string): void => {
    connection.destroy()
    callback(new ConnectError(code, `the proxy ${url.origin} ${problem}`))
  }
  const credential = authorization.current
  const connect = request({
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...(credential !== undefined && { 'proxy-authorization': credential }) },
    createConnection: () => connection,
    maxHeaderSize: maxHeadBytes,
    insecureHTTPParser: false,
  })
  connect.on('connect', ({ statusCode = 0 }, _socket, received: Buffer) => {
    if (statusCode === 407) {
      void authorization.refresh()
      fail('PROXY_AUTHENTICATION', describeAuthentication(credential))
    } else if (statusCode < 200 || statusCode > 299) {
      fail('PROXY_REFUSED', `refused a connection to ${authority} with status ${statusCode}`)
    } else if (received.length > 0) {
      // Neither TLS nor HTTP servers send first: it could be taken for the response to a request.
      fail('PROXY_RESPONSE_INVALID', 'sent more than the head of a response to CONNECT')
    } else {
      callback(null)
    }
  })
  connect.on('error', (error: NodeJS.ErrnoException) => {
    const { code = '', message } = error
    if (code.startsWith('HPE_'))
      fail('PROXY_RESPONSE_INVALID', `sent a malformed response to CONNECT: ${code}`)
    else fail('PROXY_UNREACHABLE', `cannot be reached: ${message === '' ? code : message}`)
  })
  connect.end()
}

function describeAuthentication(credential: string | undefined): string {
  return credential === undefined
    ? 'requires authentication (status 407), and no credential is configured'
    : 'rejected the credential (status 407)'
}
