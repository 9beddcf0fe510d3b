import { once } from 'node:events'
import type { ListenOptions, Server } from 'node:net'

/** Resolves with the port when the server accepts connections. Rejects if it cannot listen. */
export async function listenOn(server: Server, options: ListenOptions): Promise<number> {
  server.listen(options)
  await once(server, 'listening')
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : (options.port ?? 0)
}
