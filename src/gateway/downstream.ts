import type { CallbackList, SendingPage, TaskOwner } from '../lib/index.ts'
import type { RequestBody } from '../http1/index.ts'
import type { Credentials } from '../identity/index.ts'

/** What log line and metrics need of a response. */
export interface ObservedResponse {
  /** 0 until the head is known. */
  readonly status: number
  readonly hasHead: boolean
  /** Whether all of it was written. */
  readonly isComplete: boolean
  /** Bytes of the request and of the response so far, heads included. */
  readonly bytesReceived: number
  readonly bytesSent: number
}

/** The response to a request, written by the server that has received it. */
export interface DownstreamResponse extends ObservedResponse, TaskOwner {
  /** Whether it ended before it was complete: the client, the server or a timeout aborted it. */
  readonly isDestroyed: boolean
  /** Called once: when the response is complete or destroyed. */
  readonly onClose: CallbackList
  /** Called when more can be written after `write` returned false. */
  readonly onDrain: CallbackList
  /** Whether the connection serves further requests. To be set before `writeHead`. */
  keepAlive: boolean
  /**
   * To be called before `writeHead` if nothing needs the rest of the request body, which may close the connection after
   * the response. `drains`: the rest is read and discarded, within limits, so that a client that writes all of its
   * upload before it reads gets the response.
   */
  abandonBody(drains: boolean): void
  /** Sets status and headers (lower-case names and values in turn). */
  writeHead(status: number, headers: readonly string[]): void
  /**
   * Writes a chunk of the body. Returns false if the next chunk should wait for `onDrain`. The chunk's memory may be
   * reused when `onWritten` is called without an error.
   */
  write(chunk: Buffer, onWritten?: (error?: Error | null) => void): boolean
  /** Ends the response with the last chunk; text is latin1. */
  end(last?: Buffer | string): void
  /** Aborts the response, so that the client does not take a partial one for a complete one. */
  destroy(): void
}

/** The body of a request. It fails with CatalogError (408), ClientDisconnected, or the error of its watcher. */
export type DownstreamBody = Pick<RequestBody, 'upload' | 'readAll' | 'started' | 'release'>

export const noBody: DownstreamBody = {
  upload: () => ({
    isComplete: true,
    start: (sink) => sink.onEnd(),
    pause: () => undefined,
    resume: () => undefined,
    stop: () => undefined,
  }),
  readAll: () => Promise.resolve(Buffer.alloc(0)),
  started: () => Promise.resolve(),
  release: () => undefined,
}

/** The head of a request without anything that two readers could understand differently. */
export interface ReceivedHead {
  readonly requestId: string
  /** Address of the client: that of the peer, or the one that a trusted proxy states. */
  readonly client: string
  /** Address of the peer of the connection, unless it is the client. */
  readonly peer: string | undefined
  readonly method: string
  /** Raw request target in origin form (RFC 9112, 3.2). Never forwarded. */
  readonly target: string
  /** Host and port that the client named; undefined only for HTTP/1.0. */
  readonly host: string | undefined
  readonly credentials: Credentials
  /** Whether the client says that its token is from a login at an OAuth issuer, as those of LanceDB do. */
  readonly isOidcToken: boolean
  /** The page that sent the request; undefined if no browser did. */
  readonly page: SendingPage | undefined
  /** Names in lower case and values, alternately: the headers that the other members do not cover. */
  readonly headers: readonly string[]
  /** Database that a remote client of LanceDB names: `sales/eu`. Other clients name none. */
  readonly database: string | undefined
  /** Whether the client is a LanceDB remote client, maybe behind another gateway. Only decides the form of responses. */
  readonly isLancedb: boolean
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  /** In bytes; undefined for a body sent in chunks. */
  readonly contentLength: number | undefined
  readonly hasBody: boolean
  /** The headers that state something about a table. */
  readonly tableHeaders: readonly ('location' | 'properties')[]
}

/** The client closed its connection, or sent or read nothing for too long, before its response was complete. */
export class ClientDisconnected extends Error {
  override readonly name = 'ClientDisconnected'
}
