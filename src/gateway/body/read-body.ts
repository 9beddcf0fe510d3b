import type { Readable } from 'node:stream'
import { CatalogError, refusal } from '../../catalog-api/catalog-error.ts'
import type { DownstreamBody } from '../downstream.ts'

/** What has been read of a body. */
export interface BodyStart {
  readonly bytes: Buffer
  /** The rest of the body; undefined where nothing is left. Whoever has it reads it or returns it. */
  readonly rest?: AsyncGenerator<Buffer, void> | undefined
}

/**
 * The pieces of a body, at most `limit` bytes of them; `arrived` is told of each. The body is not destroyed where the
 * reading ends early: with the body of a request its connection would go.
 * Throws InvalidInput with status 413 for a larger one, as soon as that is known, and 400 for one cut short.
 */
export async function* readChunks(
  body: Readable,
  maxBytes: number | undefined,
  onBytes?: (bytes: number) => void,
): AsyncGenerator<Buffer, void> {
  const count = createByteCounter(maxBytes, onBytes)
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      count(chunk)
      yield chunk
    }
  } catch (error) {
    throw toBodyError(error)
  }
}

/** The whole body in memory; `arrived` is told of its bytes as they come. Throws InvalidInput (400) for one cut short. */
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
 * Reads the pieces into memory until there are more than `bytes`, or no more. `reserve` is called before a piece is
 * kept; what it throws ends the reading.
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

/** Counts the pieces of a body: tells of each, and throws InvalidInput with status 413 for the one that is too much. */
export function createByteCounter(
  maxBytes: number | undefined,
  onBytes: ((bytes: number) => void) | undefined,
): (chunk: Buffer) => void {
  let length = 0
  return (chunk) => {
    length += chunk.length
    onBytes?.(chunk.length)
    assertBodyLength(length, maxBytes)
  }
}

/** Throws InvalidInput with status 413 where a body has more bytes than the limit, if there is one. */
export function assertBodyLength(bytes: number | undefined, maxBytes: number | undefined): void {
  if (bytes === undefined || maxBytes === undefined || bytes <= maxBytes) return
  throw refusal('body_too_large', `the body is larger than the limit of ${maxBytes} bytes`)
}

/** One piece of all of them; itself where it is the only one. */
export function concatChunks(chunks: readonly Buffer[], length?: number): Buffer {
  const [first] = chunks
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks, length)
}
