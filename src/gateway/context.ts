import type { Identifier, RouteMatch } from '../catalog-api/index.ts'
import type { ReceivedHead } from './downstream.ts'
import type { Principal } from '../identity/index.ts'
import type { Upstream } from './upstream/upstream.ts'

/*
 * The context of a request: one object that each stage changes, by `advance` only. It dies with its request:
 * longer-lived objects copy its values. A stage adds members, and the files of the later stages define their types. None
 * replaces a member of an earlier one, but `authorize_body` the principal and the head permit of a body that took long.
 */

/** A request whose head is well-formed and unambiguous. */
export class Received {
  readonly head: ReceivedHead

  constructor(head: ReceivedHead) {
    this.head = head
  }
}

/** A request with its operation and object id. */
export interface Matched extends Received {
  readonly route: RouteMatch
  /** The namespace that ids of the request are relative to, as a client of LanceDB names it; usually the root. */
  readonly database: Identifier
  /** The upstream of the id in the route. A batch has none there: until its body is known, this is that of the root. */
  readonly routeUpstream: Upstream
  /** The request target at that upstream. */
  readonly routeTarget: string
}

/** A request with its principal. */
export interface Authenticated extends Matched {
  readonly principal: Principal
}

/** Adds the members of the next stage. Copying the request for each of 12 stages would take 7 to 10 us. */
export function advance<Request extends Received, Added extends object>(
  request: Request,
  added: Added,
): Request & Added {
  return Object.assign(request, added)
}
