import type { BaseResponse, RequestBody } from '../http1/index.ts'
import type { Credentials } from '../identity/index.ts'
import type { SendingPage } from '../lib/index.ts'

/** The parts of a response for log line and metrics. */
export type ObservedResponse = Readonly<
  Pick<BaseResponse, 'status' | 'hasHead' | 'isComplete'> & {
    request: Pick<BaseResponse['request'], 'bytesReceived' | 'bytesSent'>
  }
>

/** The response to a request, written by the server that has received it. */
export type DownstreamResponse = Omit<BaseResponse, 'onConnectionClose'>

/** The body of a request. It fails with CatalogError (408), ClientDisconnected, or the error of its watcher. */
export type DownstreamBody = Pick<RequestBody, 'open' | 'readAll'>

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
}

/** The client closed its connection, or sent or read nothing for too long, before its response was complete. */
export class ClientDisconnected extends Error {
  override readonly name = 'ClientDisconnected'

  constructor(message = 'the client closed the connection') {
    super(message)
  }
}
