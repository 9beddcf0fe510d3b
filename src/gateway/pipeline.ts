import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AuditLog } from '../audit/log.ts'
import type { Authenticator } from '../identity/authenticate.ts'
import type { Dialect } from '../interface/headers.ts'
import type { PolicySet } from '../policy/trie.ts'
import { authorize } from './authorize.ts'
import { check } from './check.ts'
import { forward } from './forward.ts'
import { match } from './match.ts'
import { receive } from './receive.ts'
import { record } from './record.ts'
import type { Permitted } from './stages.ts'
import type { Trace } from './trace.ts'
import type { Upstream } from './upstream.ts'

/** What the stages work with. */
export interface PipelineParts {
  readonly authenticator: Authenticator
  readonly policies: { current(): PolicySet }
  readonly audit: AuditLog
  readonly upstream: Upstream
  readonly dialects: ReadonlySet<Dialect>
  readonly maximumJsonBytes: number
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
  const received = receive(request, target, parts.dialects, trace.requestId)
  trace.stage = 'match'
  const matched = match(received, parts.upstream)
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
  request: IncomingMessage,
  response: ServerResponse,
  parts: PipelineParts,
  trace: Trace,
): Promise<void> {
  const { upstream, audit, maximumJsonBytes } = parts
  trace.stage = 'check'
  const consistent = await check(permitted, request, {
    policies,
    delimiter: upstream.delimiter,
    maximumJsonBytes,
  })
  trace.allowedBy = consistent.allowedBy
  trace.stage = 'audit'
  const recorded = await record(consistent, audit, upstream.name)
  trace.stage = 'forward'
  trace.forwardedAt = performance.now()
  await forward(recorded, response, upstream, audit)
}
