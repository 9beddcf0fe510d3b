import type { Credentials } from '../identity/authenticate.ts'
import type { Principal } from '../identity/principal.ts'
import type { RouteMatch } from '../catalog-api/request-target.ts'
import type { Upstream } from './upstream/upstream.ts'

/*
 * The request context: immutable values, one for each stage, each with the members of those before it. The later ones
 * stand beside their stages: `Authorized`, `Admitted`, `Checked` and `Audited`.
 */

/** The head of a request, without anything that two readers could interpret differently. */
export interface ReceivedHead {
  readonly requestId: string
  /** Address of the peer. */
  readonly client: string
  readonly method: string
  /** Raw request target (RFC 9112, 3.2). Never forwarded. */
  readonly target: string
  readonly credentials: Credentials
  /** Lower-case names and values in turn: the headers that the other members do not cover. */
  readonly headers: readonly string[]
  /** The database named by a LanceDB remote client: `sales/eu`. Other clients name none. */
  readonly database: string | undefined
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  /** In bytes; undefined for the chunked coding. */
  readonly contentLength: number | undefined
  readonly hasBody: boolean
  /** Headers that state facts about a table. */
  readonly tableHeaders: readonly ('location' | 'properties')[]
}

/** A request whose head is well-formed and unambiguous. */
export interface Received {
  readonly head: ReceivedHead
}

/** A request with its operation and object id. */
export interface Matched extends Received {
  readonly route: RouteMatch
  /** The upstream of the object. A batch names its objects in the body, so `check` replaces it. */
  readonly upstream: Upstream
  /** The only request target that is forwarded. */
  readonly upstreamTarget: string
}

/** A request with its principal. */
export interface Authenticated extends Matched {
  readonly principal: Principal
}
