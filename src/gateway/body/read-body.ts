import { CatalogError, refusal } from '../../catalog-api/catalog-error.ts'
import { formatBytes } from '../../lib/format-bytes.ts'
import type { BodySource } from '../../http1/codec/body-source.ts'
import type { DownstreamBody } from '../downstream.ts'
import type { ReadableRequest } from './checked-body.ts'

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
  { countReceived, reserveMemory }: BodyCounters,
): Promise<BodySource> {
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
