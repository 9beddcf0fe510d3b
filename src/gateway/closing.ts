import type { FastifyInstance } from 'fastify'

const sweepMs = 20

/**
 * Lets a server that is told to close finish the requests under way, and no longer: connections on which no request
 * is under way, also those that never sent one, would otherwise be waited for.
 */
export function closeWithoutIdlers(server: FastifyInstance): void {
  let underway = 0
  server.addHook('onRequest', (_request, reply, done) => {
    underway += 1
    reply.raw.once('close', () => (underway -= 1))
    done()
  })
  server.addHook('preClose', (done) => {
    const sweep = setInterval(() => {
      if (underway === 0) server.server.closeAllConnections()
    }, sweepMs)
    server.server.once('close', () => clearInterval(sweep))
    done()
  })
}
