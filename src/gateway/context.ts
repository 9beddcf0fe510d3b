import type { ReceivedHead } from './received-head.ts'
import type { Principal } from '../identity/principal.ts'
import type { RouteMatch } from '../catalog-api/request-target.ts'
import type { Upstream } from './upstream/upstream.ts'

/*
 * The request context: immutable values, one for each stage, each with the members of those before it. The files of
 * the later stages define theirs: `Authorized`, `Admitted`, `Checked` and `Audited`.
 */

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

/** Creates the value of the next stage. Spreading into a literal would take ten times as long on Node 20: 2 us. */
export function advance<Request extends Received, Added extends object>(
  request: Request,
  added: Added,
): Request & Added {
  return Object.assign({}, request, added)
}
