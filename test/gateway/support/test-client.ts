import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'

interface ClientRequest {
  readonly method: Dispatcher.HttpMethod
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer | Readable
  readonly signal?: AbortSignal
}

export interface OpenResponse {
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders
  readonly body: Readable
}

export interface TestClient {
  /** Resolves before the body of the response has been read. */
  request(request: ClientRequest): Promise<OpenResponse>
  destroy(): Promise<void>
}
