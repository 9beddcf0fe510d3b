import { levelOf } from '../../interface/errors.ts'
import type { GatewaySettings } from '../../config.ts'
import type { GatewayLog } from '../../telemetry/log.ts'
import type { OutgoingResponse } from '../../http1/server/outgoing-response.ts'
import type { IncomingRequest } from '../../http1/server/incoming-request.ts'
import type { Traces } from '../../telemetry/traces.ts'
import type { RequestEnd } from './request-end.ts'
import { requestLine } from './request-line.ts'
import { spanAttributes } from './span-attributes.ts'
import type { Trace } from '../trace.ts'

/** Tells of each request by itself, as metrics do not: its line in the log, and its spans where traces are on. */
export interface RequestReport {
  begun(trace: Trace, request: IncomingRequest): void
  ended(trace: Trace, response: OutgoingResponse, end: RequestEnd): void
}

/** The report that the settings ask for; without traces nothing is done for them. */
export function reportRequests(
  log: Pick<GatewayLog, 'logger' | 'write'>,
  settings: Pick<GatewaySettings, 'log' | 'traces'>,
  traces: Traces | undefined,
): RequestReport {
  const rate = settings.log.sample.success
  const include = settings.traces?.include ?? []
  return {
    begun(trace, request) {
      if (traces === undefined) return
      trace.spans = traces.begin(request.headersByName(), trace.startedAt)
      if (trace.spans.isKept) trace.traceId = trace.spans.traceId
      trace.spans.enter(trace.stage, trace.startedAt)
    },
    ended(trace, response, end) {
      writeLine(log, rate, trace, response, end)
      if (trace.spans === undefined) return
      const attributes = trace.spans.isKept
        ? spanAttributes(trace, end, response.request.head.method, include)
        : {}
      const isFailure = end.status >= 500
      trace.spans.end(
        end.operation,
        { attributes, isFailure },
        end.refusal && { 'error.type': end.refusal.reason },
      )
    },
  }
}

function writeLine(
  log: Pick<GatewayLog, 'logger' | 'write'>,
  rate: number,
  trace: Trace,
  response: OutgoingResponse,
  end: RequestEnd,
): void {
  const level = end.refusal ? levelOf(end.refusal.reason) : end.status >= 500 ? 'warn' : 'info'
  if (!log.logger.isLevelEnabled(level)) return
  const isSampled = rate < 1 && isUnremarkable(trace, response, end)
  if (isSampled && Math.random() >= rate) return
  log.write(level, requestLine(trace, response, end, isSampled ? rate : undefined), 'request completed')
}

/** A read of the catalog or of a document that went well. */
function isUnremarkable(
  { progress, document }: Trace,
  response: OutgoingResponse,
  { status, refusal }: RequestEnd,
): boolean {
  const isRead = document !== undefined || progress.route?.operation.effect === 'read'
  return isRead && status < 400 && refusal === undefined && response.isComplete
}
