import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

export interface Target {
  readonly host: string
  readonly port: number
}

export interface TcpProxy {
  close(): void
}

/** Listens, and connects each connection to a target that is chosen for it. Connections outlive the proxy. */
export async function startTcpProxy(
  host: string,
  port: number,
  choose: () => Target | undefined,
): Promise<TcpProxy> {
  const server: Server = createServer({ allowHalfOpen: true, noDelay: true }, (downstream) => {
    const target = choose()
    if (target === undefined) {
      downstream.resetAndDestroy()
      return
    }
    const upstream = connect({ ...target, allowHalfOpen: true, noDelay: true })
    forward(downstream, upstream)
    forward(upstream, downstream)
  })
  server.listen(port, host)
  await once(server, 'listening')
  return { close: () => void server.close() }
}

function forward(from: Socket, to: Socket): void {
  from.pipe(to)
  from.on('error', () => to.resetAndDestroy())
  from.on('close', () => to.destroySoon())
}
