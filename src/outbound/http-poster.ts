import { Agent } from 'undici'
import { describeRedirect, readBounded } from '../lib/index.ts'
import type { SocketOpener } from './socket-opener.ts'
import { createUndiciConnector } from './undici-connector.ts'

/** The receiver responded with another status than 2xx, or with a page. */
export class PostRefused extends Error {
  readonly status: number

  constructor(status: number, reason: string) {
    super(`the receiver returned status ${status}${reason}`)
    this.status = status
  }
}

/** Posts bodies to one URL, over connections of its own. */
export interface HttpPoster {
  /**
   * Resolves with the body of a 2xx response; empty if it has more than 64 KiB. Rejects otherwise, with PostRefused for
   * another status, or a page of HTML as of a proxy that wants a login.
   */
  post(headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<string>
  close(): Promise<void>
}

const maxResponseBytes = 65_536

/** The timeout is for each of connecting, the response headers, and a pause in the response body. */
export function createHttpPoster(
  url: string,
  opener: SocketOpener,
  timeoutMs: number,
  maxConnections: number,
): HttpPoster {
  const { origin, pathname, search } = new URL(url)
  const agent = new Agent({
    connections: maxConnections,
    pipelining: 1,
    connect: createUndiciConnector(opener, timeoutMs),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  })
  return {
    async post(headers, body, signal) {
      const path = pathname + search
      const response = await agent.request({
        origin,
        path,
        method: 'POST',
        headers: { ...headers },
        body,
        signal,
      })
      const text = String((await readBounded(response.body, maxResponseBytes)) ?? '')
      if (response.statusCode >= 200 && response.statusCode <= 299) {
        if (!String(response.headers['content-type']).startsWith('text/html')) return text
        throw new PostRefused(response.statusCode, ' with a page of HTML')
      }
      const target = describeRedirect(response, url)
      throw new PostRefused(
        response.statusCode,
        target === undefined ? '' : `${target}; redirects are not followed`,
      )
    },
    close: () => agent.destroy(),
  }
}
