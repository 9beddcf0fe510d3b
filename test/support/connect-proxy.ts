import { createServer as createHttpServer, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { connect, createServer, type Socket } from 'node:net'
import { listenLocally } from './local-server.ts'

interface ConnectProxyOptions {
  /** Ports of this machine by `HOST:PORT`, as a client names them; others are refused with 502. */
  readonly hosts: Readonly<Record<string, number>>
  /** `USER:PASSWORD`, without which requests are refused with 407. */
  readonly credential?: string
  readonly tls?: { readonly cert: string; readonly key: string }
}

export interface ConnectProxy {
  readonly url: string
  /** `HOST:PORT` of each CONNECT request, refused ones included. */
  readonly requested: string[]
  /** Connections to other hosts. */
  readonly tunnels: Socket[]
}

/** Starts an HTTP proxy that tunnels connections, until the end of the test. */
export async function startConnectProxy({
  hosts,
  credential,
  tls,
}: ConnectProxyOptions): Promise<ConnectProxy> {
  const requested: string[] = []
  const tunnels: Socket[] = []
  const server: Server = tls ? createHttpsServer(tls) : createHttpServer()
  const expected = credential && `Basic ${Buffer.from(credential).toString('base64')}`
  server.on('connect', ({ url = '', headers }, client: Socket, received: Buffer) => {
    requested.push(url)
    client.on('error', () => undefined)
    const port = hosts[url]
    if (expected !== undefined && headers['proxy-authorization'] !== expected) {
      client.end(
        'HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="proxy"\r\n\r\n',
      )
    } else if (port === undefined) {
      client.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')
    } else {
      const host = connect(port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
        host.write(received)
        host.pipe(client).pipe(host)
      })
      tunnels.push(host)
      host.on('error', () => client.destroy()).on('close', () => client.destroy())
      client.on('close', () => host.destroy())
    }
  })
  const port = await listenLocally(server)
  return { url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`, requested, tunnels }
}

/** Starts a server that sends these bytes when it has received the head of a request; returns its URL as a proxy. */
export async function startScriptedProxy(respond: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    let head = ''
    socket.on('data', (bytes: Buffer) => {
      const isComplete = head.includes('\r\n\r\n')
      head += bytes.toString('latin1')
      if (!isComplete && head.includes('\r\n\r\n')) respond(socket)
    })
  })
  return `http://127.0.0.1:${await listenLocally(server)}`
}
