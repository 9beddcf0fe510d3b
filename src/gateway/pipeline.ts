import type { AuditLog } from '../audit/log/audit-log.ts'
import type { PolicySet } from '../policy/policy-set.ts'
import { sendDocument, type FindDocument } from './documents.ts'
import type { DownstreamBody, DownstreamRequest, DownstreamResponse } from './downstream.ts'
import { audit, type AuditOptions } from './stages/audit.ts'
import { authenticate, type AuthenticateOptions } from './stages/authenticate.ts'
import { authorize } from './stages/authorize.ts'
import { check, type CheckOptions } from './stages/check.ts'
import { forward, prepareForwarding, type ForwardOptions } from './stages/forward.ts'
import { limit, type LimitOptions } from './stages/limit.ts'
import { match, type FindRoute } from './stages/match.ts'
import { receive, type ReceiveOptions } from './stages/receive.ts'
import type { Trace } from './trace.ts'

export interface Pipeline
  extends ReceiveOptions, AuthenticateOptions, LimitOptions, CheckOptions, AuditOptions, ForwardOptions {
  readonly findDocument: FindDocument
  readonly findRoute: FindRoute
  readonly policies: { current(): PolicySet }
  readonly auditLog: AuditLog
}

/**
 * Handles one request. Each stage takes the result of the previous one and refuses by throwing, so a request that was
 * not authorized, checked and audited cannot be forwarded: it does not compile.
 */
export async function handle(
  request: DownstreamRequest,
  body: DownstreamBody,
  response: DownstreamResponse,
  pipeline: Pipeline,
  trace: Trace,
): Promise<void> {
  const received = receive(request, pipeline, trace.requestId)
  const found = pipeline.findDocument(received)
  if (found !== undefined) {
    const document = await found
    trace.document = document.name
    sendDocument(document, received, response, pipeline.shedding, trace)
    return
  }
  const matched = match(trace.enter('match', received), pipeline.findRoute)
  const authenticated = await authenticate(trace.enter('authenticate', matched), pipeline)
  const authorized = authorize(trace.enter('authorize', authenticated), pipeline.policies.current())
  const admitted = limit(trace.enter('limit', authorized), response, pipeline)
  const checked = await check(trace.enter('check', admitted), body, pipeline)
  // No intent is written for a request that cannot be forwarded.
  await prepareForwarding(trace.enter('forward', checked), body)
  const audited = await audit(trace.enter('audit', checked), pipeline)
  trace.upstreamError = await forward(trace.enter('forward', audited), response, pipeline, trace.spans)
}
