import type { Readable } from 'node:stream'
import { CatalogError, refusal } from '../../catalog-api/catalog-error.ts'
import { formatBytes } from '../../lib/format-bytes.ts'
import type { DownstreamBody } from '../downstream.ts'

/** The maximum size of a body, and its setting below `limits`. */
export interface BodyLimit {
  readonly setting: 'maxJsonBytes' | 'maxArrowBytes'
  /** Undefined is no limit. */
  readonly maxBytes: number | undefined
}

/** The beginning of a body. */
export interface BodyStart {
  readonly bytes: Buffer
  /** The rest of the body, which need not be read; undefined if it is complete. */
  readonly rest?: AsyncGenerator<Buffer, void> | undefined
}

/**
 * Reads a body in chunks, at most those of `limit`; `onBytes` is called for each chunk. The body is not destroyed if the
 * reader stops early: that would close the connection of the request. Throws InvalidInput (413) as soon as a larger
 * body is known, and InvalidInput (400) for an incomplete one.
 */
export async function* readChunks(
  body: Readable,
  limit: BodyLimit,
  onBytes?: (bytes: number) => void,
): AsyncGenerator<Buffer, void> {
  const count = createByteCounter(limit, onBytes)
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      count(chunk)
      yield chunk
    }
  } catch (error) {
    throw toBodyError(error)
  }
}

/**
 * Reads a whole body into memory; `onBytes` is called with the number of bytes of each chunk. Throws InvalidInput (400)
 * for an incomplete body.
 */
export async function readWholeBody(
  body: DownstreamBody,
  onBytes?: (bytes: number) => void,
): Promise<Buffer> {
  try {
    return await body.readAll(onBytes)
  } catch (error) {
    throw toBodyError(error)
  }
}

function toBodyError(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error
  return refusal('incomplete_body', 'the body ended before it was complete', { cause: error })
}

/**
 * Reads chunks into memory until there are more than `bytes`, or the body ends. `reserve` is called before a chunk is
 * retained; if it throws, reading stops.
 */
export async function readBodyStart(
  chunks: AsyncGenerator<Buffer, void>,
  bytes: number,
  reserve?: (bytes: number) => void,
): Promise<BodyStart> {
  const started: Buffer[] = []
  let length = 0
  while (length <= bytes) {
    const { value, done } = await chunks.next()
    if (done === true || value === undefined) return { bytes: concatChunks(started, length), rest: undefined }
    reserve?.(value.length)
    started.push(value)
    length += value.length
  }
  return { bytes: concatChunks(started, length), rest: chunks }
}

/** Creates a counter of chunks, which reports each one and throws InvalidInput (413) when the maximum is exceeded. */
export function createByteCounter(
  limit: BodyLimit,
  onBytes: ((bytes: number) => void) | undefined,
): (chunk: Buffer) => void {
  let length = 0
  return (chunk) => {
    length += chunk.length
    onBytes?.(chunk.length)
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
