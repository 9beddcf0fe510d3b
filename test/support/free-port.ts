import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/** Below the ports that systems give to sockets which ask for any: those could take one that is free for now. */
const lowest = 15_000
const highest = 32_000

/** Returns an unused port, for programs that cannot report the port they listen on. */
export async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listenOnFreePort(server)
  await once(server.close(), 'close')
  return port
}

/** Listens on the loopback address, on a port that refuses connections after the server is closed; returns the port. */
export async function listenOnFreePort(server: Server): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest)
    server.listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
      return port
    } catch {
      continue
    }
  }
}
