import type { AuditLog } from '../audit/log.ts'
import type { Authenticator } from '../identity/authenticate.ts'
import type { Dialect } from '../interface/headers.ts'
import type { PolicySet } from '../policy/trie.ts'
import { atOneUpstream } from './upstream/at-one-upstream.ts'
import type { Share } from '../limits/limit.ts'
import type { BodyMemory } from '../limits/body-memory.ts'
import type { FairCapacity } from '../limits/fair-capacity.ts'
import type { Limits } from '../limits/limits.ts'
import { principalKey } from '../limits/selection.ts'
import type { Shedding } from '../limits/shedding.ts'
import { authorize } from './authorize.ts'
import { assertReachable } from './upstream/call-upstream.ts'
import type { ChangeTracking } from './changes/change-tracking.ts'
import { check, type BodyLimits } from './check.ts'
import { DeniedError } from './denied-error.ts'
import type { OutgoingResponse } from '../http1/server/outgoing-response.ts'
import type { DownstreamBody } from './body/downstream-body.ts'
import { forward } from './forward.ts'
import { identify } from './identify.ts'
import { limit, limitEntries } from './limit.ts'
import { match, type FindAim } from './match.ts'
import type { PageTokens } from './listing/page-token.ts'
import { record } from './record.ts'
import {
  authenticated,
  type Authenticated,
  type Consistent,
  type Permitted,
  type Received,
} from './stages.ts'
import type { Trace } from './trace.ts'
import type { Upstreams } from './upstream/upstreams.ts'

/** What the stages work with. */
export interface PipelineParts {
  readonly authenticator: Authenticator
  readonly policies: { current(): PolicySet }
  /** What each caller may take. */
  readonly fairness: Limits
  readonly activeRequests: FairCapacity
  readonly shedding: Shedding
  readonly audit: AuditLog
  readonly tracking: ChangeTracking
  readonly findAim: FindAim
  readonly upstreams: Upstreams
  readonly pageTokens: PageTokens
  readonly dialects: ReadonlySet<Dialect>
  readonly bodyLimits: BodyLimits
  readonly bodyMemory: BodyMemory
  readonly maximumHeaders: number
}

/** A request that may go on, with the policies that let it: the check of its body must not use other ones. */
export interface Admitted {
  readonly permitted: Permitted
  readonly policies: PolicySet
  /** What it has of the limits, where it must be told of its body. */
  readonly share: Share | undefined
}

/**
 * The first half of the way of a received request: everything that is decided before a byte of its body is read.
 * Each stage takes what the one before returns, and refuses by throwing an InterfaceError; only what the policies deny
 * is returned. A promise only where it must wait to know who calls.
 */
export function admit(
  received: Received,
  response: OutgoingResponse,
  parts: PipelineParts,
  trace: Trace,
): Admitted | DeniedError | Promise<Admitted | DeniedError> {
  trace.enter('match')
  const matched = match(received, parts.findAim)
  trace.meaning = matched.meaning
  trace.enter('authenticate')
  const caller = identify(matched, parts.authenticator, parts.fairness.authentications)
  return caller instanceof Promise
    ? caller.then((principal) => admitCaller(authenticated(matched, principal), response, parts, trace))
    : admitCaller(authenticated(matched, caller), response, parts, trace)
}

/** The rest of it, when it is known who calls. */
function admitCaller(
  authenticated: Authenticated,
  response: OutgoingResponse,
  parts: PipelineParts,
  trace: Trace,
): Admitted | DeniedError {
  trace.principal = authenticated.principal
  trace.enter('authorize')
  const policies = parts.policies.current()
  trace.policyRevision = policies.revision
  const permitted = authorize(authenticated, policies)
  if (permitted instanceof DeniedError) return permitted
  trace.enter('limit')
  const share = limit(permitted, response, parts)
  return { permitted, policies, share }
}

/** The second half: the body is checked, a change is recorded, and the request goes upstream. */
export function pass(
  { permitted, policies, share }: Admitted,
  body: DownstreamBody,
  response: OutgoingResponse,
  parts: PipelineParts,
  trace: Trace,
): Promise<void> {
  trace.enter('check')
  const checked = check(permitted, body, {
    policies,
    limits: parts.bodyLimits,
    arrived: share?.arrived,
    reserve: parts.bodyMemory.reservation(principalKey(permitted.principal), (release) => {
      if (response.isDestroyed) release()
      else response.onClose.add(release)
    }),
  })
  const goOn = (consistent: Consistent): Promise<void> =>
    passConsistent(consistent, policies, body, response, parts, trace)
  return checked instanceof Promise ? checked.then(goOn) : goOn(checked)
}

/** The rest of it, when the body is found to agree. */
async function passConsistent(
  consistent: Consistent,
  policies: PolicySet,
  body: DownstreamBody,
  response: OutgoingResponse,
  { fairness, upstreams, pageTokens, audit, tracking }: PipelineParts,
  trace: Trace,
): Promise<void> {
  try {
    const placed = atOneUpstream(consistent, upstreams)
    trace.allowedBy = placed.allowedBy
    trace.upstream = placed.upstream.name
    limitEntries(placed, fairness)
    // What cannot be sent now is refused before it costs a record.
    trace.enter('forward')
    assertReachable(placed.upstream)
    // A body that does not come must not hold a connection to the upstream.
    if (placed.payload.form === 'stream') await body.started()
    trace.enter('audit')
    const recording = record(placed, audit, tracking)
    const recorded = recording instanceof Promise ? await recording : recording
    trace.enter('forward')
    trace.forwardedAt = performance.now()
    trace.upstreamError = await forward(recorded, response, audit, {
      policies,
      upstreams,
      pageTokens,
      spans: trace.spans,
    })
  } finally {
    // Where it never came to be sent, what holds on to the body of the client lets go.
    if (consistent.payload.form === 'stream') consistent.payload.body.destroy()
  }
}
