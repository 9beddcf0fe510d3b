import type { ServerResponse } from 'node:http'
import type { AuditLog } from '../audit/log.ts'
import type { OutcomeEntry } from '../audit/records.ts'
import { AuditUnavailable } from '../audit/unavailable.ts'
import { requestIdHeader } from '../interface/headers.ts'
import { ClientGone, exchange, type Client, type UpstreamAnswer, type UpstreamRequest } from './exchange.ts'
import type { Recorded } from './stages.ts'
import { neverSent, normalizeError, transportError, withoutCredentials } from './upstream-answer.ts'
import type { Upstream } from './upstream.ts'

/**
 * The last stage: sends the request to the upstream and the answer to the client. The answer to a change is held
 * back until its outcome is in the audit log, so that a client never knows of a commit that the log does not.
 * Resolves with the status that the client was answered with. Throws InterfaceError (502, 503, 504).
 */
export async function forward(
  request: Recorded,
  response: ServerResponse,
  upstream: Upstream,
  audit: AuditLog,
): Promise<number> {
  const startedAt = performance.now()
  const client: Client = {
    response,
    requestId: request.requestId,
    endsWithClient: request.intent === undefined,
    holdsBack: (status) => status < 200 || status >= 300 || needsReading(request),
  }
  let answer: UpstreamAnswer
  try {
    if (response.destroyed)
      throw new ClientGone('the client closed the connection before its request went upstream')
    answer = await exchangeOnce(request, upstream, client)
  } catch (error) {
    await recordOutcome(request, audit, failure(error, startedAt))
    if (error instanceof ClientGone) throw error
    throw transportError(error)
  }
  await recordOutcome(request, audit, outcomeOf(answer, startedAt))
  return answer.body === undefined ? answer.status : send(answer, answer.body, request, response)
}

/** A change is recorded before it is answered; credentials that the caller may not have are taken out. */
function needsReading(request: Recorded): boolean {
  return request.intent !== undefined || request.withholdsCredentials
}

/** A read whose body is in memory is sent again, once, where an idle connection turned out to be closed. */
async function exchangeOnce(request: Recorded, upstream: Upstream, client: Client) {
  try {
    return await exchange(upstream.pool, toUpstream(request, upstream), client)
  } catch (error) {
    const safe =
      request.intent === undefined && request.payload.form !== 'stream' && !client.response.headersSent
    const closed =
      error instanceof Error &&
      'code' in error &&
      ['UND_ERR_SOCKET', 'ECONNRESET'].includes(String(error.code))
    if (!safe || !closed) throw error
    return exchange(upstream.pool, toUpstream(request, upstream), client)
  }
}

function toUpstream(request: Recorded, upstream: Upstream): UpstreamRequest {
  const { payload } = request
  const headers = [...request.headers, requestIdHeader, request.requestId, ...upstream.credentials]
  if (request.upstreamContentType !== undefined) headers.push('content-type', request.upstreamContentType)
  if (payload.form === 'stream' && payload.length !== undefined) {
    headers.push('content-length', String(payload.length))
  }
  return {
    method: request.meaning.operation.method,
    path: request.upstreamTarget,
    headers,
    body: payload.form === 'bytes' ? payload.bytes : payload.form === 'stream' ? payload.body : null,
  }
}

/**
 * A change that was made is answered as made even where its outcome cannot be written: an error would make clients
 * do it again. The log keeps the intent, and shows that it has no outcome; the failure is counted.
 */
async function recordOutcome(request: Recorded, audit: AuditLog, outcome: OutcomeEntry): Promise<void> {
  if (request.intent === undefined) return
  try {
    await audit.outcome(request.intent, outcome)
  } catch (error) {
    if (!(error instanceof AuditUnavailable)) throw error
  }
}

function outcomeOf(answer: UpstreamAnswer, startedAt: number): OutcomeEntry {
  const { status } = answer
  const version = versionIn(answer)
  return {
    result: status < 300 ? 'committed' : status < 500 ? 'rejected' : 'unknown',
    status,
    ...(version === undefined ? {} : { version }),
    durationMs: elapsed(startedAt),
  }
}

function failure(error: unknown, startedAt: number): OutcomeEntry {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'broken off'
  return {
    result: neverSent(error) ? 'failed' : 'unknown',
    durationMs: elapsed(startedAt),
    details: { reason: code },
  }
}

function elapsed(startedAt: number): number {
  return Math.round((performance.now() - startedAt) * 100) / 100
}

/** The table version in the answer to a change: `{version: 7}` or `{version: {version: 7}}`. */
function versionIn(answer: UpstreamAnswer): number | undefined {
  if (answer.status >= 300 || answer.body === undefined || answer.body.length === 0) return undefined
  try {
    const body: unknown = JSON.parse(answer.body.toString('utf8'))
    const value = isVersioned(body) ? body.version : undefined
    const version = isVersioned(value) ? value.version : value
    return typeof version === 'number' ? version : undefined
  } catch {
    return undefined
  }
}

interface Versioned {
  readonly version?: unknown
}

function isVersioned(value: unknown): value is Versioned {
  return typeof value === 'object' && value !== null
}

function send(answer: UpstreamAnswer, held: Buffer, request: Recorded, response: ServerResponse): number {
  if (answer.status < 200 || answer.status >= 300) {
    const { status, body } = normalizeError(answer, request.requestId)
    const retryAfter = valueOf(answer.headers, 'retry-after')
    write(
      response,
      status,
      [...(retryAfter === undefined ? [] : ['retry-after', retryAfter]), ...jsonHeaders(request)],
      JSON.stringify(body),
    )
    return status
  }
  const body = request.withholdsCredentials ? withoutCredentials(held) : held
  const headers = answer.headers.filter(
    (_, index) => answer.headers[index - (index % 2)] !== 'content-length',
  )
  write(response, answer.status, headers, body)
  return answer.status
}

function jsonHeaders(request: Recorded): string[] {
  return ['content-type', 'application/json', requestIdHeader, request.requestId]
}

function valueOf(headers: readonly string[], name: string): string | undefined {
  const index = headers.findIndex((header, position) => position % 2 === 0 && header === name)
  return index === -1 ? undefined : headers[index + 1]
}

function write(
  response: ServerResponse,
  status: number,
  headers: readonly string[],
  body: Buffer | string,
): void {
  response.writeHead(status, [...headers, 'content-length', String(Buffer.byteLength(body))])
  response.end(body)
}
