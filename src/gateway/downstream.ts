import { Readable } from 'node:stream'
import type { IncomingRequest } from '../http1/server/incoming-request.ts'
import type { OutgoingResponse } from '../http1/server/outgoing-response.ts'

export type DownstreamRequest = IncomingRequest
export type DownstreamResponse = OutgoingResponse

/** Receives the chunks of a body as they arrive. An error that it throws destroys the stream. */
interface BodyWatcher {
  chunk(bytes: Buffer): void
  /** Called before the last chunk is passed on: a body that is rejected here never reaches an upstream complete. */
  readonly end?: () => void
}

/** The body of a request, read as a stream or into memory. */
export interface DownstreamBody {
  /** Fails with BodyTimeout or ClientDisconnected. Destroying it leaves the connection open. */
  readonly stream: Readable
  /** To be called before the stream is read. */
  watch(watcher: BodyWatcher): void
  /** Reads the body into memory; `onBytes` is called with the length of each chunk. Rejects with the stream's errors. */
  readAll(onBytes?: (bytes: number) => void): Promise<Buffer>
  /**
   * Resolves when 16 KiB of the body or all of it have arrived, so that a client that sends nothing holds no connection
   * to an upstream. Rejects with the stream's errors.
   */
  started(): Promise<void>
  /** Stops reading. */
  release(): void
}

export const noBody: DownstreamBody = {
  stream: Readable.from([]),
  watch: () => undefined,
  readAll: () => Promise.resolve(Buffer.alloc(0)),
  started: () => Promise.resolve(),
  release: () => undefined,
}
