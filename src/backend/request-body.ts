import type { IncomingMessage } from 'node:http'
import { InterfaceError, invalidInput } from '../interface/errors.ts'

/** The memory that the uploads of all requests share. */
export class UploadMemory {
  #free: number

  constructor(bytes: number) {
    this.#free = bytes
  }

  /** Throws ServiceUnavailable (503) when other uploads hold what is needed. */
  take(bytes: number): void {
    if (bytes > this.#free) {
      throw new InterfaceError('ServiceUnavailable', 'other uploads take all the memory; try again', {
        headers: { 'retry-after': '1' },
      })
    }
    this.#free -= bytes
  }

  release(bytes: number): void {
    this.#free += bytes
  }
}

/**
 * Reads an upload into one buffer and hands it to `use`; its memory is accounted for until `use` has ended.
 * Throws InvalidInput with status 413 above `limit` bytes, before any byte is read when the length is announced.
 */
export async function withUpload<Result>(
  request: IncomingMessage,
  limit: number,
  memory: UploadMemory,
  use: (upload: Uint8Array) => Promise<Result>,
): Promise<Result> {
  let taken = 0
  const take = (bytes: number): void => {
    memory.take(bytes)
    taken += bytes
  }
  try {
    return await use(await readBody(request, limit, take))
  } finally {
    memory.release(taken)
  }
}

/**
 * Reads a whole body, no more than `limit` bytes of it; `take` is told of the memory it needs before it is used.
 * Throws InvalidInput: 413 for a larger body, 415 for a compressed one, 400 for one that was cut short.
 */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  take: (bytes: number) => void = () => {},
): Promise<Buffer> {
  const {
    'content-length': announced,
    'transfer-encoding': transfer,
    'content-encoding': encoding,
  } = request.headers
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw invalidInput('the body is compressed by content-encoding; send it as it is', { status: 415 })
  }
  if (announced === undefined && transfer === undefined) return Buffer.alloc(0)
  if (announced !== undefined && Number(announced) > limit) throw tooLarge(limit)
  const buffer = announced === undefined ? undefined : reserve(Number(announced), take)
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (length + chunk.length > limit) throw tooLarge(limit)
      if (buffer === undefined) {
        take(chunk.length)
        chunks.push(chunk)
      } else {
        chunk.copy(buffer, length)
      }
      length += chunk.length
    }
  } catch (error) {
    if (error instanceof InterfaceError) throw error
    throw invalidInput('the body ended before it was complete', { cause: error })
  }
  return buffer ?? Buffer.concat(chunks, length)
}

/** The length of a body is known, so that it is copied into its place only once. */
function reserve(length: number, take: (bytes: number) => void): Buffer {
  take(length)
  return Buffer.allocUnsafe(length)
}

function tooLarge(limit: number): InterfaceError {
  return invalidInput(`the body is larger than the ${limit} bytes that are accepted`, { status: 413 })
}
