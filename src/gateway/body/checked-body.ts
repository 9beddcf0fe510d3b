import type { StatedFacts } from '../../catalog-api/index.ts'
import type { BodySource } from '../../http1/index.ts'
import type { UploadFacts } from '../../audit/index.ts'
import type { NamedWork } from '../sealed-tokens.ts'
import type { JsonObject } from '../facts/stated-facts.ts'

/** A body that was checked; of an Arrow stream, the schema: its payload checks the rest. */
export interface CheckedBody {
  /** Whether it may state facts to authorize, besides those of the head. */
  readonly mayState: boolean
  /** Members that were read. */
  readonly members: JsonObject
  /** Extension types of its columns whose values can refer to other objects. */
  readonly references: readonly string[]
  /** The job that it names by a sealed id. */
  readonly job: NamedWork | undefined
  /** Paths of members outside the catalog API. */
  readonly allowedMembers: ReadonlySet<string>
  readonly payloadType: string | undefined
  /**
   * Creates the body to forward, with the authorized facts in all their sources. To be called once. `check` is called while
   * a body streams, and before the last byte of it is sent; if it rejects, the upstream never receives a complete body.
   */
  createPayload(stated: StatedFacts, check: CheckDecision): Payload
}

/**
 * Checks whether a request is still allowed as it was; undefined if that was decided just now. Rejects with CatalogError
 * (401, 403, 404, 503); `meanwhile` not if it cannot be decided now.
 */
export type CheckDecision = (when: 'meanwhile' | 'end') => Promise<void> | undefined

/** The body of an upstream request. `meter` measures an Arrow stream, or has measured it. */
export type Payload =
  | { readonly form: 'none' }
  | { readonly form: 'bytes'; readonly bytes: Buffer; readonly meter?: UploadMeter }
  /** If the body fails, the attempt is aborted, so the upstream never receives a complete request. */
  | {
      readonly form: 'stream'
      readonly body: BodySource
      /** In bytes; undefined for the chunked coding. */
      readonly length: number | undefined
      readonly meter?: UploadMeter
    }

interface UploadMeter {
  getFacts(): UploadFacts
}

/** A request without a body. */
export const emptyBody: CheckedBody = {
  mayState: false,
  members: {},
  references: [],
  job: undefined,
  allowedMembers: new Set(),
  payloadType: undefined,
  createPayload: () => ({ form: 'none' }),
}
