import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that systems give to sockets which ask for any: those could take a free one before the program does. */
const lowest = 15_000
const highest = 32_000

/** Returns an unused port, for programs that cannot report the port they listen on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch {
      continue
    }
    await once(server.close(), 'close')
    return port
  }
}
