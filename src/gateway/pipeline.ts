import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AuditLog } from '../audit/log.ts'
import type { Authenticator } from '../identity/authenticate.ts'
import type { Dialect } from '../interface/headers.ts'
import type { PolicySet } from '../policy/trie.ts'
import { atOneUpstream } from './at-one-upstream.ts'
import { authorize } from './authorize.ts'
import { assertReachable } from './call-upstream.ts'
import type { ChangeTracking } from './change-tracking.ts'
import { check, type BodyLimits } from './check.ts'
import type { ClientBody } from './client-body.ts'
import { forward } from './forward.ts'
import { match } from './match.ts'
import type { PageTokens } from './page-token.ts'
import { receive } from './receive.ts'
import { record } from './record.ts'
import type { Permitted } from './stages.ts'
import type { Trace } from './trace.ts'
import type { Upstreams } from './upstreams.ts'

/** What the stages work with. */
export interface PipelineParts {
  readonly authenticator: Authenticator
  readonly policies: { current(): PolicySet }
  readonly audit: AuditLog
  readonly tracking: ChangeTracking
  readonly upstreams: Upstreams
  readonly pageTokens: PageTokens
  readonly dialects: ReadonlySet<Dialect>
  readonly bodyLimits: BodyLimits
  readonly maximumHeaders: number
}

/** A request that may go on, with the policies that let it: the check of its body must not use other ones. */
export interface Admitted {
  readonly permitted: Permitted
  readonly policies: PolicySet
}

/**
 * The first half of the way of a request: everything that is decided before a byte of its body is read.
 * Each stage takes what the one before returns, and refuses by throwing an InterfaceError.
 */
export async function admit(
  request: IncomingMessage,
  target: string,
  parts: PipelineParts,
  trace: Trace,
): Promise<Admitted> {
  trace.stage = 'receive'
  const received = receive(request, target, parts, trace.requestId)
  trace.stage = 'match'
  const matched = match(received, parts.upstreams)
  trace.meaning = matched.meaning
  trace.stage = 'authenticate'
  const caller = parts.authenticator.authenticate(matched.credentials)
  const principal = caller instanceof Promise ? await caller : caller
  trace.principal = principal
  trace.stage = 'authorize'
  const policies = parts.policies.current()
  return { permitted: authorize({ ...matched, principal }, policies), policies }
}

/** The second half: the body is checked, a change is recorded, and the request goes upstream. */
export async function pass(
  { permitted, policies }: Admitted,
  body: ClientBody,
  response: ServerResponse,
  parts: PipelineParts,
  trace: Trace,
): Promise<void> {
  const { upstreams, pageTokens, audit, tracking, bodyLimits: limits } = parts
  trace.stage = 'check'
  const consistent = await check(permitted, body.stream, { policies, limits })
  try {
    const placed = atOneUpstream(consistent, upstreams)
    trace.allowedBy = placed.allowedBy
    trace.upstream = placed.upstream.name
    // What cannot be sent now is refused before it costs a record.
    trace.stage = 'forward'
    assertReachable(placed.upstream)
    // A body that does not come must not hold a connection to the upstream.
    if (placed.payload.form === 'stream') await body.begun()
    trace.stage = 'audit'
    const recorded = await record(placed, audit, tracking)
    trace.stage = 'forward'
    trace.forwardedAt = performance.now()
    await forward(recorded, response, audit, { policies, upstreams, pageTokens })
  } finally {
    // Where it never came to be sent, what holds on to the body of the client lets go.
    if (consistent.payload.form === 'stream') consistent.payload.body.destroy()
  }
}
