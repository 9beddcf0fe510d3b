import type { Principal } from '../identity/principal.ts'
import type { InterfaceError } from '../interface/errors.ts'
import { lancedbDatabaseHeader, requestIdHeader, requestIdOf } from '../interface/headers.ts'
import type { Target } from '../interface/target.ts'
import type { Allowed } from '../policy/decision.ts'
import type { RequestSpans } from '../telemetry/request-spans.ts'
import type { Document } from './documents.ts'
import type { IncomingRequest } from '../http1/server/incoming-request.ts'

/** The stages of the way of a request, in order. */
export const stages = [
  'receive',
  'match',
  'authenticate',
  'authorize',
  'limit',
  'check',
  'audit',
  'forward',
] as const

/** One of them. */
export type Stage = (typeof stages)[number]

const places: ReadonlyMap<Stage, number> = new Map(stages.map((stage, place) => [stage, place]))

/** What refused a request, and why in one word of a closed set. */
export interface Refusal {
  readonly error: InterfaceError
  readonly reason: string
}

/**
 * What is known of a request so far: for its line in the log, its metrics and its refusal. All members are there from
 * the start: every request has one, and to add to an object costs more than to change it.
 */
export class Trace {
  readonly requestId: string
  readonly client: string
  /** Whether a remote client of LanceDB sent it. */
  readonly isLancedb: boolean
  /** Milliseconds of performance.now(), as all times here. */
  readonly startedAt: number
  stage: Stage = 'receive'
  meaning: Target | undefined = undefined
  /** The document that it is for, if it is not for the catalog. */
  document: Document['name'] | undefined = undefined
  principal: Principal | undefined = undefined
  allowedBy: Allowed | undefined = undefined
  /** Of the policies that decide on it. */
  policyRevision: string | undefined = undefined
  /** The name of the upstream that it goes to. */
  upstream: string | undefined = undefined
  forwardedAt: number | undefined = undefined
  refusal: Refusal | undefined = undefined
  /** What the upstream answered, if that was an error. */
  upstreamError: InterfaceError | undefined = undefined
  /** The id of the trace that is told of it, where there is one. */
  traceId: string | undefined = undefined
  /** Where traces are on. */
  spans: RequestSpans | undefined = undefined
  #place = 0
  #stageSince: number
  readonly #tookMs: number[] = [NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN]

  constructor(requestId: string, client: string, isLancedb: boolean, startedAt: number) {
    this.requestId = requestId
    this.client = client
    this.isLancedb = isLancedb
    this.startedAt = startedAt
    this.#stageSince = startedAt
  }

  /** Milliseconds that all visits to each of `stages` took; NaN where the request has not come to it. */
  get tookMs(): readonly number[] {
    return this.#tookMs
  }

  /** A stage begins, and with it the one before is over. A stage can be come to again. */
  enter(stage: Stage): void {
    const now = performance.now()
    this.endStage(now)
    this.stage = stage
    this.#place = places.get(stage) ?? 0
    this.#stageSince = now
    this.spans?.enter(stage, now)
  }

  /** The stage that was come to last is over. */
  endStage(now: number): void {
    const before = this.#tookMs[this.#place] ?? NaN
    this.#tookMs[this.#place] = now - this.#stageSince + (Number.isNaN(before) ? 0 : before)
  }
}

/** Begins the trace of a request, before anything of it has been judged. */
export function beginTrace(request: IncomingRequest): Trace {
  const requestId = requestIdOf(request.singleHeader(requestIdHeader))
  const { headers } = request.head
  const isLancedb = headers.some((text, index) => index % 2 === 0 && text === lancedbDatabaseHeader)
  return new Trace(requestId, request.remoteAddress, isLancedb, request.receivedAt)
}
