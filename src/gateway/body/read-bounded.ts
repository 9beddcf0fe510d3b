import { CatalogError, quoteForMessage, refusal } from '../../catalog-api/index.ts'
import { formatBytes, type RunInSlices } from '../../lib/index.ts'
import type { BodyBounds } from '../bounds.ts'
import type { Matched } from '../context.ts'
import type { DownstreamBody } from '../downstream.ts'

/** A request whose body may be read, with the capacity for it. */
export interface ReadableRequest extends Matched {
  /** Reserves memory for bytes of the body, or of the response. Throws Overloaded (503). */
  readonly reserveMemory: (bytes: number) => void
  /** Slices of the principal. Rejects with ClientDisconnected once the response is closed. */
  readonly runInSlices: RunInSlices
}

/** Maximum sizes of bodies. */
export interface BodyLimits extends BodyBounds {
  readonly maxJsonBytes: number
  /** Undefined for no limit. */
  readonly maxArrowBytes?: number | undefined
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
 * Reads a whole body within `maxJsonBytes` into memory. Throws InvalidInput (413) as soon as a larger body is known,
 * InvalidInput (400) for an incomplete one, and Overloaded (503).
 */
export function readWholeBody(
  request: ReadableRequest,
  body: DownstreamBody,
  limits: BodyLimits,
): Promise<Buffer> {
  const { contentLength } = request.head
  const count = createByteCounter(request, limits, 'maxJsonBytes')
  if (contentLength !== undefined) request.reserveMemory(contentLength)
  const read = body.readAll((bytes) => {
    count(bytes)
    if (contentLength === undefined) request.reserveMemory(bytes)
  })
  return read.catch((error: unknown) => {
    if (error instanceof CatalogError) throw error
    throw refusal('incomplete_body', 'the body ended before it was complete', { cause: error })
  })
}

/** Creates a counter of bytes. It throws InvalidInput (413) above the limit, and so does this if the head says so. */
export function createByteCounter(
  { head }: ReadableRequest,
  limits: BodyLimits,
  limit: 'maxJsonBytes' | 'maxArrowBytes',
): (bytes: number) => void {
  const { contentLength } = head
  const maxBytes = limits[limit] ?? Number.POSITIVE_INFINITY
  const size = contentLength === undefined ? '' : ` of ${formatBytes(contentLength)}`
  const assertLength = (bytes: number): void => {
    if (bytes <= maxBytes) return
    throw refusal(
      'body_too_large',
      `the body${size} is larger than the limit of ${formatBytes(maxBytes)} (limits.${limit} of the gateway)`,
    )
  }
  assertLength(contentLength ?? 0)
  let length = 0
  return (bytes) => {
    length += bytes
    assertLength(length)
  }
}
