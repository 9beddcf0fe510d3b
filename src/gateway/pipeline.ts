import type { IncomingRequest } from '../http1/index.ts'
import { sendDocument, type FindDocument } from './documents.ts'
import type { DownstreamBody, DownstreamResponse } from './downstream.ts'
import { audit, type AuditOptions } from './stages/audit.ts'
import { authenticate, type AuthenticateOptions } from './stages/authenticate.ts'
import { authorize } from './stages/authorize.ts'
import { authorizeBody, type AuthorizeBodyOptions } from './stages/authorize-body.ts'
import { limit, type LimitOptions } from './stages/limit.ts'
import { match, type FindRoute } from './stages/match.ts'
import { place } from './stages/place.ts'
import { readBody, type ReadBodyOptions } from './stages/read-body.ts'
import { receive, type ReceiveOptions } from './stages/receive.ts'
import { record, recordFailure } from './stages/record.ts'
import { respond } from './stages/respond.ts'
import { send, type SendOptions } from './stages/send.ts'
import type { Trace } from './trace.ts'

export interface Pipeline
  extends
    ReceiveOptions,
    AuthenticateOptions,
    LimitOptions,
    ReadBodyOptions,
    AuthorizeBodyOptions,
    AuditOptions,
    SendOptions {
  readonly findDocument: FindDocument
  readonly findRoute: FindRoute
}

/**
 * Handles one request. Each stage takes the result of the previous one, adds to it, and refuses by throwing, so a request
 * that was not authorized, limited and audited cannot be sent upstream: it does not compile.
 */
export async function handle(
  request: IncomingRequest,
  body: DownstreamBody,
  response: DownstreamResponse,
  pipeline: Pipeline,
  trace: Trace,
): Promise<void> {
  const received = receive(request, pipeline, trace)
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
  const bodyRead = await readBody(trace.enter('read_body', admitted), body, pipeline)
  const permitted = await authorizeBody(trace.enter('authorize_body', bodyRead), pipeline)
  const placed = place(trace.enter('place', permitted), pipeline)
  const audited = await audit(trace.enter('audit', placed), pipeline)
  const sent = await send(trace.enter('send', audited), response, pipeline, trace).catch((error: unknown) =>
    recordFailure(audited, error, trace.sentAt, pipeline),
  )
  const recorded = await record(trace.enter('record', sent), trace.sentAt, pipeline)
  trace.upstreamError = await respond(trace.enter('respond', recorded), response, trace)
}
