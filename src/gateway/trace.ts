import type { CatalogError } from '../catalog-api/catalog-error.ts'
import { lancedbDatabaseHeader, requestIdHeader, acceptRequestId } from '../catalog-api/headers.ts'
import type { RequestSpans } from '../observability/traces/request-spans.ts'
import { DeniedError } from './authorization/denied-error.ts'
import type { ServedDocument } from './documents.ts'
import type { DownstreamRequest } from './downstream.ts'
import type { Audited } from './stages/audit.ts'
import type { Authorized } from './stages/authorize.ts'

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

/** Name of a stage: in files, metrics, spans and the log. */
export type Stage = (typeof stages)[number]

const stageIndexes: ReadonlyMap<Stage, number> = new Map(stages.map((stage, index) => [stage, index]))

/** The result of the last stage that a request has passed. */
export type Progress = Partial<Omit<Audited, 'permit'> & Pick<Authorized, 'permit'>>

/** Observed values of a request for a pass-through route. */
export interface PassThroughTrace {
  readonly prefix: string
  /** Whether the rule of the route allows the request; undefined before the decision. */
  isAllowed: boolean | undefined
}

/**
 * Observes one request for its log line, metrics and spans. It refers to the result of the last stage instead of
 * copying from it.
 */
export class Trace {
  readonly requestId: string
  readonly method: string
  /** Address of the peer of the connection. */
  readonly client: string
  /** Whether a remote client of LanceDB sent the request. */
  readonly isLancedb: boolean
  /** Milliseconds of performance.now(), as all times here. */
  readonly startedAt: number
  stage: Stage = 'receive'
  progress: Progress = {}
  /** Name of the requested document, if the request is not for the catalog. */
  document: ServedDocument['name'] | undefined = undefined
  /** The pass-through route that the request is for. */
  passThrough: PassThroughTrace | undefined = undefined
  /** The error that the request was refused with. */
  refusal: CatalogError | undefined = undefined
  /** The error that the upstream responded with. */
  upstreamError: CatalogError | undefined = undefined
  /** Id of the exported trace; undefined if it is not sampled. */
  traceId: string | undefined = undefined
  /** Undefined if traces are off. */
  spans: RequestSpans | undefined = undefined
  #stageIndex = 0
  #stageStartedAt: number
  readonly #stageMs: number[] = [NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN]

  constructor(request: DownstreamRequest) {
    const { method, headers } = request.head
    this.requestId = acceptRequestId(request.singleHeader(requestIdHeader))
    this.method = method
    this.client = request.remoteAddress
    this.isLancedb = headers.some((text, index) => index % 2 === 0 && text === lancedbDatabaseHeader)
    this.startedAt = request.receivedAt
    this.#stageStartedAt = this.startedAt
  }

  /** Revision of the policies that decided; undefined before any did. */
  get policyRevision(): string | undefined {
    return this.progress.permit?.policies.revision ?? this.denial?.revision
  }

  get denial(): DeniedError['decision'] | undefined {
    return this.refusal instanceof DeniedError ? this.refusal.decision : undefined
  }

  /** Undefined until `check`: the objects of a batch, and so its upstream, are in the body. */
  get upstream(): string | undefined {
    return this.progress.allowedBy && this.progress.upstream?.name
  }

  /** Milliseconds spent in each of `stages`; NaN for stages that were not entered. */
  get stageMs(): readonly number[] {
    return this.#stageMs
  }

  /** When the request was sent upstream; undefined if it was not. */
  get forwardedAt(): number | undefined {
    return this.stage === 'forward' && 'intent' in this.progress ? this.#stageStartedAt : undefined
  }

  /** Enters `stage`, which ends the previous one, with the result of that. A stage can be entered again. */
  enter<T extends Progress>(stage: Stage, progress: T): T {
    const now = performance.now()
    this.endStage(now)
    this.progress = progress
    this.stage = stage
    this.#stageIndex = stageIndexes.get(stage) ?? 0
    this.#stageStartedAt = now
    this.spans?.startStage(stage, now)
    return progress
  }

  endStage(now: number): void {
    const before = this.#stageMs[this.#stageIndex] ?? NaN
    this.#stageMs[this.#stageIndex] = now - this.#stageStartedAt + (Number.isNaN(before) ? 0 : before)
  }
}
