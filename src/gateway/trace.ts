import type { IncomingRequest } from '../http1/index.ts'
import {
  acceptRequestId,
  type CatalogError,
  clientDialectHeader,
  isLancedbClient,
  lancedbDatabaseHeader,
  requestIdHeader,
} from '../catalog-api/index.ts'
import { hasHeader } from '../lib/index.ts'
import type { RequestSpans } from '../observability/index.ts'
import { DeniedError } from './authorization/decisions.ts'
import type { ServedDocument } from './documents.ts'
import type { ObservedResponse } from './downstream.ts'
import type { Recorded } from './stages/record.ts'

export const stages = [
  'receive',
  'match',
  'authenticate',
  'authorize',
  'limit',
  'read_body',
  'authorize_body',
  'place',
  'audit',
  'send',
  'record',
  'respond',
] as const

/** Name of a stage: in files, metrics, spans and the log. */
export type Stage = (typeof stages)[number]

const noStageMs: readonly number[] = stages.map(() => NaN)

/** The result of the last stage that a request has passed. */
export type Progress = Partial<Recorded>

export type RequestEnd = ReturnType<Trace['end']>

/**
 * Observes one request for its log line, metrics and spans. It refers to the result of the last stage instead of
 * copying from it.
 */
export class Trace {
  readonly requestId: string
  readonly method: string
  /** Whether a remote client of LanceDB sent the request. */
  readonly isLancedb: boolean
  /** Milliseconds of performance.now(), as all times here. */
  readonly startedAt: number
  stage: Stage = 'receive'
  /** When the request was sent upstream; NaN if it was not. */
  sentAt = NaN
  progress: Progress = {}
  /** Name of the requested document, if the request is not for the catalog. */
  document: ServedDocument['name'] | undefined = undefined
  /** The pass-through route that the request is for; `isAllowed` is undefined before the decision by its rule. */
  passThrough: { readonly prefix: string; isAllowed: boolean | undefined } | undefined = undefined
  /** The error that the request was refused with. */
  refusal: CatalogError | undefined = undefined
  /** The error that the upstream responded with. */
  upstreamError: CatalogError | undefined = undefined
  /** Undefined if traces are off. */
  spans: RequestSpans | undefined = undefined
  /** Milliseconds spent in each of `stages`; NaN for stages that were not entered. */
  readonly stageMs = noStageMs.slice()
  readonly #peer: string
  #stageIndex = 0
  #stageStartedAt: number

  constructor(request: IncomingRequest) {
    const { method, headers } = request.head
    this.requestId = acceptRequestId(request.singleHeader(requestIdHeader))
    this.method = method
    this.#peer = request.peer
    const namesDatabase = hasHeader(headers, lancedbDatabaseHeader)
    this.isLancedb = isLancedbClient(request.singleHeader(clientDialectHeader), namesDatabase)
    this.startedAt = request.receivedAt
    this.#stageStartedAt = this.startedAt
  }

  /** Address of the client: until the head has been received, that of the connection. */
  get client(): string {
    return this.progress.head?.client ?? this.#peer
  }

  /** Address of the peer of the connection, unless it is the client. */
  get peer(): string | undefined {
    return this.progress.head?.peer
  }

  get isAuthenticated(): boolean {
    return this.progress.principal !== undefined
  }

  /** Revision of the policies that decided; undefined before any did. */
  get policyRevision(): string | undefined {
    return this.progress.headPermit?.policies.revision ?? this.denial?.revision
  }

  get denial(): DeniedError['decision'] | undefined {
    return this.refusal instanceof DeniedError ? this.refusal.decision : undefined
  }

  /** Undefined until the request was placed: the objects of a batch, and so its upstream, are in the body. */
  get upstream(): string | undefined {
    return this.progress.upstream?.name
  }

  /** Enters `stage`, which ends the previous one, with the result of that. */
  enter<T extends Progress>(stage: Stage, progress: T): T {
    const now = performance.now()
    this.#endStage(now)
    this.progress = progress
    this.stage = stage
    this.#stageIndex = stages.indexOf(stage)
    this.#stageStartedAt = now
    if (stage === 'send') this.sentAt = now
    return progress
  }

  #endStage(now: number): void {
    this.stageMs[this.#stageIndex] = now - this.#stageStartedAt
  }

  /** Ends the last stage, and describes the whole request. */
  end(response: ObservedResponse) {
    const { passThrough, progress, denial } = this
    const endedAt = performance.now()
    this.#endStage(endedAt)
    const isAllowed = passThrough?.isAllowed === true || progress.allowedBy !== undefined
    const isDenied = passThrough?.isAllowed === false || denial !== undefined
    const decision: 'allow' | 'deny' | 'none' = isAllowed ? 'allow' : isDenied ? 'deny' : 'none'
    return {
      /** Name of the operation or document, or `unknown`. */
      operation: progress.route?.operation.name ?? this.document ?? (passThrough ? 'PassThrough' : 'unknown'),
      /** Status of the response; 499 if the client disconnected first. */
      status: response.hasHead ? response.status : 499,
      /** Decision of the policies; `none` if they were not asked, or not about the body. */
      decision,
      endedAt,
    }
  }
}
