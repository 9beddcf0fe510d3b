import type { Socket } from 'node:net'
import type { ConnectionAddresses } from '../lib/net/addresses.ts'
import type { CallbackList, TaskOwner } from '../lib/async/owned-tasks.ts'
import type { BodySource } from '../http1/codec/body-source.ts'
import type { UploadWatcher } from '../http1/server/upload-source.ts'
import type { Credentials } from '../identity/index.ts'
import type { SendingPage } from '../lib/http/sending-page.ts'

/** A request as the pipeline sees it, from any server. */
export interface DownstreamRequest {
  readonly head: {
    readonly method: string
    /** Raw request target (RFC 9112, 3.2). */
    readonly target: string
    /** As in `1.1`. */
    readonly version: string
    /** Length; 0 without a body. */
    readonly body: number | 'chunked' | 'unknown'
    /** Lower-case names and values in turn, as received. */
    readonly headers: readonly string[]
  }
  /** The connection, for its client certificate. */
  readonly socket: Socket
  /** Of the connection. */
  readonly addresses: ConnectionAddresses
  /** When the head was received, on the clock of performance.now(). */
  readonly receivedAt: number
  /** The value of a header (lower-case name); undefined if it is missing or repeated. */
  singleHeader(name: string): string | undefined
  /** All headers by name; repeated values are joined by commas. */
  headersByName(): Record<string, string>
}

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

/** The body of a request, to be read in one way: into memory, or to be passed on. */
export interface DownstreamBody {
  /** Passes the body on as it arrives. Fails with CatalogError (408), ClientDisconnected, or the error of the watcher. */
  upload(watcher: UploadWatcher): BodySource
  /**
   * Reads the body into memory; `onBytes` is called with the length of each chunk, and may throw. Rejects like `upload`
   * fails.
   */
  readAll(onBytes: (bytes: number) => void): Promise<Buffer>
  /**
   * Resolves when 16 KiB of an upload, and all that its watcher needs, or all of it have arrived, so that a client that
   * sends nothing holds no connection to an upstream. Rejects with the errors of the body.
   */
  started(): Promise<void>
  /** Stops reading. */
  release(): void
}

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
