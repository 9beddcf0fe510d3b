import type { Readable } from 'node:stream'
import { InterfaceError, refusal } from '../../interface/errors.ts'
import type { DownstreamBody } from '../downstream.ts'

/** What has been read of a body. */
export interface Beginning {
  readonly bytes: Buffer
  /** The rest of the body; undefined where nothing is left. Whoever has it reads it or returns it. */
  readonly rest?: AsyncGenerator<Buffer, void> | undefined
}

/**
 * The pieces of a body, at most `limit` bytes of them; `arrived` is told of each. The body is not destroyed where the
 * reading ends early: with the body of a request its connection would go.
 * Throws InvalidInput with status 413 for a larger one, as soon as that is known, and 400 for one cut short.
 */
export async function* piecesOf(
  body: Readable,
  limit: number | undefined,
  arrived?: (bytes: number) => void,
): AsyncGenerator<Buffer, void> {
  const count = countBytes(limit, arrived)
  try {
    for await (const piece of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      count(piece)
      yield piece
    }
  } catch (error) {
    throw unreadable(error)
  }
}

/** The whole body in memory; `arrived` is told of its bytes as they come. Throws InvalidInput (400) for one cut short. */
export async function wholeOf(body: DownstreamBody, arrived?: (bytes: number) => void): Promise<Buffer> {
  try {
    return await body.readAll(arrived)
  } catch (error) {
    throw unreadable(error)
  }
}

function unreadable(error: unknown): InterfaceError {
  if (error instanceof InterfaceError) return error
  return refusal('incomplete_body', 'the body ended before it was complete', { cause: error })
}

/**
 * Reads the pieces into memory until there are more than `bytes`, or no more. `reserve` is called before a piece is
 * kept; what it throws ends the reading.
 */
export async function readBeginning(
  pieces: AsyncGenerator<Buffer, void>,
  bytes: number,
  reserve?: (bytes: number) => void,
): Promise<Beginning> {
  const begun: Buffer[] = []
  let length = 0
  while (length <= bytes) {
    const { value, done } = await pieces.next()
    if (done === true || value === undefined) return { bytes: joined(begun, length), rest: undefined }
    reserve?.(value.length)
    begun.push(value)
    length += value.length
  }
  return { bytes: joined(begun, length), rest: pieces }
}

/** Counts the pieces of a body: tells of each, and throws InvalidInput with status 413 for the one that is too much. */
export function countBytes(
  limit: number | undefined,
  arrived: ((bytes: number) => void) | undefined,
): (piece: Buffer) => void {
  let length = 0
  return (piece) => {
    length += piece.length
    arrived?.(piece.length)
    assertLength(length, limit)
  }
}

/** Throws InvalidInput with status 413 where a body has more bytes than the limit, if there is one. */
export function assertLength(bytes: number | undefined, limit: number | undefined): void {
  if (bytes === undefined || limit === undefined || bytes <= limit) return
  throw refusal('body_too_large', `the body is larger than the limit of ${limit} bytes`)
}

/** One piece of all of them; itself where it is the only one. */
export function joined(pieces: readonly Buffer[], length?: number): Buffer {
  const [first] = pieces
  return first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces, length)
}
