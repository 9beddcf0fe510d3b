import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { text } from 'node:stream/consumers'
import type { TlsOptions } from 'node:tls'
import { listenLocally } from '../../support/local-server.ts'

export interface ReceivedBatch {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type Receiving = (batch: ReceivedBatch, response: ServerResponse) => unknown

export interface Receiver {
  readonly url: string
  /** Batches acknowledged with 2xx. */
  readonly taken: ReceivedBatch[]
  readonly seen: ReceivedBatch[]
  /** Handler of the next batches; default `takes`. */
  receiving: Receiving
}

export const takes: Receiving = (_, response) => response.writeHead(204).end()
export const fails: Receiving = (_, response) => response.writeHead(503).end('not now')
export const stalls: Receiving = () => undefined
export const drops: Receiving = (_, response) => response.destroy()

/** Starts a receiver on a free port, with TLS if options are given; closes it at the end of the test. */
export async function startReceiver(tls?: TlsOptions): Promise<Receiver> {
  const receiver: Receiver = {
    url: '',
    taken: [],
    seen: [],
    receiving: takes,
  }
  const receive: RequestListener = (request, response) => {
    void text(request).then((body) => {
      const batch = { headers: request.headers, body }
      receiver.seen.push(batch)
      receiver.receiving(batch, response)
      if (response.headersSent && response.statusCode < 300) receiver.taken.push(batch)
    })
  }
  const server = tls === undefined ? createServer(receive) : createTlsServer(tls, receive)
  const port = await listenLocally(server)
  return Object.assign(receiver, {
    url: `http${tls === undefined ? '' : 's'}://127.0.0.1:${port}/audit?from=gateway`,
  })
}

/** Returns the records in OTLP batches, as text. */
export function linesOf(batches: readonly Pick<ReceivedBatch, 'body'>[]): string[] {
  const texts = batches.flatMap(({ body }) => body.match(/"body":\{"stringValue":"(?:[^"\\]|\\.)*"/g) ?? [])
  return texts.map((text) => JSON.parse(text.slice('"body":{"stringValue":'.length)) as string)
}

export function distinct(lines: readonly string[]): string[] {
  return [...new Set(lines)]
}
