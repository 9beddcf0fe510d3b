import { TLSSocket } from 'node:tls'
import { buildConnector } from 'undici'

/**
 * Creates a `connect` option of undici whose TCP connections are reset when they are closed, as by a client that has ended.
 * A client that only closes its side still gets its response.
 */
export function createResettingConnector(
  options: buildConnector.BuildOptions = {},
): buildConnector.connector {
  const connect = buildConnector(options)
  return (target, callback) =>
    connect(target, (...result) => {
      const [, socket] = result
      if (socket !== null && !(socket instanceof TLSSocket)) {
        const destroy = socket.destroy.bind(socket)
        socket.destroy = () => {
          socket.destroy = destroy
          return socket.resetAndDestroy()
        }
      }
      callback(...result)
    })
}
