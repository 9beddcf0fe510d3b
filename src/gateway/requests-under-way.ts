import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'

const sweepMs = 20

/** The requests of a server that have not been answered to the end. */
export interface RequestsUnderWay {
  /**
   * For a connection on which nothing more can be read: true where answers are under way there to requests that
   * came whole, or an answer has begun. The connection is then closed behind them, and nothing else may be sent.
   */
  closeBehindAnswers(socket: Duplex): boolean
}

/**
 * Watches the requests of a server. When it is told to close, it finishes those under way, and no longer:
 * connections on which there is none, also those that never sent one, would otherwise be waited for.
 */
export function watchRequests(server: FastifyInstance): RequestsUnderWay {
  const underway = new Map<ServerResponse, IncomingMessage>()
  server.addHook('onRequest', ({ raw }, reply, done) => {
    underway.set(reply.raw, raw)
    reply.raw.once('close', () => underway.delete(reply.raw))
    done()
  })
  server.addHook('preClose', (done) => {
    const sweep = setInterval(() => {
      if (underway.size === 0) server.server.closeAllConnections()
    }, sweepMs)
    server.server.once('close', () => clearInterval(sweep))
    done()
  })
  return {
    closeBehindAnswers(socket) {
      const answers = [...underway].filter(([, request]) => request.socket === socket)
      const isAnswering = answers.some(([response, request]) => request.complete || response.headersSent)
      if (isAnswering) answers.at(-1)?.[0].once('close', () => socket.destroy())
      return isAnswering
    },
  }
}
