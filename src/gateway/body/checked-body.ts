import { CatalogError, quoteForMessage, refusal, type StatedFacts } from '../../catalog-api/index.ts'
import type { ReceivedHead, DownstreamBody } from '../downstream.ts'
import type { BodySource } from '../../http1/index.ts'
import type { UploadFacts } from '../../audit/index.ts'
import { formatBytes, type RunInSlices } from '../../lib/index.ts'
import type { BodyBounds } from '../bounds.ts'
import type { Matched } from '../context.ts'
import type { NamedWork } from '../sealed-tokens.ts'
import type { JsonObject } from '../facts/stated-facts.ts'

const jsonContentType = /^(?:application\/json|application\/octet-stream|text\/json)\s*(?:;|$)/i
const charsetParameter = /;\s*charset\s*=\s*"?([^\s";]*)/i

/** Throws InvalidInput (400) for a body that is not JSON in UTF-8, or compressed. */
export function assertJsonHeaders({ contentType, contentEncoding }: ReceivedHead): void {
  assertUncompressed(contentEncoding, 'the JSON body')
  if (contentType === undefined) return
  const encoding = charsetParameter.exec(contentType)?.[1] ?? 'utf-8'
  if (!jsonContentType.test(contentType) || !/^utf-?8$/i.test(encoding)) {
    throw refusal(
      'unsupported_content_type',
      `the content-type is ${quoteForMessage(contentType)}; expected application/json in UTF-8`,
    )
  }
}

/** Throws InvalidInput (400) for a compressed body, which could not be checked. */
export function assertUncompressed(contentEncoding: string | undefined, what: string): void {
  if (contentEncoding === undefined || contentEncoding === 'identity') return
  throw refusal(
    'unsupported_content_encoding',
    `the content-encoding is ${quoteForMessage(contentEncoding)}; send ${what} uncompressed`,
  )
}

/**
 * Checks whether a request is still allowed as it was; undefined if that was decided just now. Rejects with CatalogError
 * (401, 403, 404, 503); `meanwhile` not if it cannot be decided now.
 */
export type CheckDecision = (when: 'meanwhile' | 'end') => Promise<void> | undefined

/** What has measured an upload, or measures it while it passes. */
interface UploadMeter {
  getFacts(): UploadFacts
}

/** The body of an upstream request. */
export type Payload =
  | { readonly form: 'none' }
  /** `meter` has measured an Arrow stream. */
  | { readonly form: 'bytes'; readonly bytes: Buffer; readonly meter?: UploadMeter }
  /** If the body fails, the attempt is aborted, so the upstream never receives a complete request. */
  | {
      readonly form: 'stream'
      readonly body: BodySource
      /** In bytes; undefined for the chunked coding. */
      readonly length: number | undefined
      /** Measures an Arrow stream. */
      readonly meter?: UploadMeter
    }

/** A request whose body may be read, with the capacity for it. */
export interface ReadableRequest extends Matched {
  /** Counts bytes of the body against byte quotas; undefined if no quota counts them. */
  readonly countReceived: ((bytes: number) => void) | undefined
  /** Reserves memory for bytes of the body. Throws Overloaded (503). */
  readonly reserveMemory: (bytes: number) => void
  /** Slices of the principal. Rejects with ClientDisconnected once the response is closed. */
  readonly runInSlices: RunInSlices
}

/** Maximum sizes of bodies. */
export interface BodyLimits extends BodyBounds {
  /** JSON that is read into memory. */
  readonly maxJsonBytes: number
  /** Arrow, and JSON that streams through; undefined for no limit. */
  readonly maxArrowBytes?: number | undefined
}

/** What a body states that must be authorized. */
export interface BodyStatement {
  readonly members: JsonObject
  /** Whether these are all members. */
  readonly isWhole: boolean
  /** Extension types of its columns whose values can refer to other objects. */
  readonly references?: readonly string[]
  /** The job that it names by a sealed id. */
  readonly job?: NamedWork | undefined
}

/** A body that was checked, or whose beginning was: then its payload streams the rest through the check. */
export interface CheckedBody {
  /** Undefined if the head states everything. */
  readonly statement: BodyStatement | undefined
  /** Members that were read. */
  readonly members: JsonObject
  /** Paths of members outside the catalog API. */
  readonly allowedMembers: ReadonlySet<string>
  /** The job that the body names by a sealed id. */
  readonly job: NamedWork | undefined
  readonly payloadType: string | undefined
  /**
   * Creates what is forwarded, with the authorized facts in all their sources. To be called once. `check` is called while
   * a body streams, and before the last byte of it is sent; if it rejects, the upstream never receives a complete body.
   */
  createPayload(stated: StatedFacts, check: CheckDecision): Payload
}

const noMembers: ReadonlySet<string> = new Set()

/** Creates a body without members of JSON. */
export function createBodyWithoutMembers(
  statement: BodyStatement | undefined,
  payloadType: string | undefined,
  createPayload: CheckedBody['createPayload'],
): CheckedBody {
  return { statement, members: {}, allowedMembers: noMembers, job: undefined, payloadType, createPayload }
}

/** The maximum size of a body, and its setting below `limits`. */
export interface BodyLimit {
  readonly setting: 'maxJsonBytes' | 'maxArrowBytes'
  /** Undefined is no limit. */
  readonly maxBytes: number | undefined
}

/** The counters of a request whose body is read. */
type BodyCounters = Pick<ReadableRequest, 'head' | 'countReceived' | 'reserveMemory'>

/**
 * Reads a whole body of at most `limit` into memory. Throws InvalidInput (413) as soon as a larger body is known,
 * InvalidInput (400) for an incomplete one, and Overloaded (503).
 */
export async function readWholeBody(
  body: DownstreamBody,
  limit: BodyLimit,
  { head: { contentLength }, countReceived, reserveMemory }: BodyCounters,
): Promise<Buffer> {
  assertBodyLength(contentLength, limit)
  const count = createByteCounter(limit, countReceived)
  if (contentLength !== undefined) reserveMemory(contentLength)
  try {
    return await body.readAll((bytes) => {
      count(bytes)
      if (contentLength === undefined) reserveMemory(bytes)
    })
  } catch (error) {
    throw toBodyError(error)
  }
}

/**
 * Starts a body of at most `limit`: resolves when more than `startBytes` or all of it have arrived, which are in memory.
 * The body then fails, or this rejects, like `readWholeBody`.
 */
export async function startBody(
  body: DownstreamBody,
  startBytes: number,
  limit: BodyLimit,
  { head, countReceived, reserveMemory }: BodyCounters,
): Promise<BodySource> {
  assertBodyLength(head.contentLength, limit)
  const count = createByteCounter(limit, countReceived)
  let received = 0
  const source = body.upload({
    chunk({ length }) {
      count(length)
      if (received <= startBytes) reserveMemory(length)
      received += length
    },
    needsMore: () => received <= startBytes,
  })
  try {
    await body.started()
    return source
  } catch (error) {
    throw toBodyError(error)
  }
}

/** The error of a body that failed before its end. */
export function toBodyError(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error
  return refusal('incomplete_body', 'the body ended before it was complete', { cause: error })
}

/** Creates a counter of bytes, which reports each chunk and throws InvalidInput (413) when the maximum is exceeded. */
export function createByteCounter(
  limit: BodyLimit,
  onBytes: ((bytes: number) => void) | undefined,
): (bytes: number) => void {
  let length = 0
  return (bytes) => {
    length += bytes
    onBytes?.(bytes)
    assertBodyLength(length, limit)
  }
}

/** Throws InvalidInput (413) if a body exceeds the limit. */
export function assertBodyLength(bytes: number | undefined, limit: BodyLimit): void {
  if (bytes === undefined || limit.maxBytes === undefined || bytes <= limit.maxBytes) return
  throw refusal(
    'body_too_large',
    `the body is larger than the limit of ${formatBytes(limit.maxBytes)} (limits.${limit.setting} of the gateway)`,
  )
}

/** Concatenates chunks; a single chunk is not copied. */
export function concatChunks(chunks: readonly Buffer[], length?: number): Buffer {
  const [first] = chunks
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks, length)
}
