import type { Credentials } from '../identity/authenticate.ts'

/** The head of a request without anything that two readers could understand differently. */
export interface ReceivedHead {
  readonly requestId: string
  /** Address of the peer of the connection. */
  readonly client: string
  readonly method: string
  /** Raw request target in origin form (RFC 9112, 3.2). Never forwarded. */
  readonly target: string
  readonly credentials: Credentials
  /** Names in lower case and values, alternately: the headers that the other members do not cover. */
  readonly headers: readonly string[]
  /** Database that a remote client of LanceDB names: `sales/eu`. Other clients name none. */
  readonly database: string | undefined
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  /** In bytes; undefined for a body sent in chunks. */
  readonly contentLength: number | undefined
  readonly hasBody: boolean
  /** The headers that state something about a table. */
  readonly tableHeaders: readonly ('location' | 'properties')[]
}
