import type { IncomingMessage } from 'node:http'
import { CatalogError, invalidInput } from 'catalog-gateway/catalog-api'
import { formatBytes, TimeoutExceeded, withTimeout } from 'catalog-gateway/lib'

/** The maximum size of a body, and its setting below `limits`. */
interface BodyLimit {
  readonly setting: 'maxJsonBytes' | 'maxUploadBytes'
  readonly maxBytes: number
}

/** Between two chunks. Longer than the default of a gateway in front, which knows the client. */
const chunkTimeoutMs = 120_000
const blockBytes = 1024 * 1024

/**
 * Calls `reserve` before allocating memory for what arrives, not for what is announced. Throws InvalidInput: with status 415
 * for a compressed body, 413 above the limit, unread if its length is announced, 408 if no chunk arrives in time, as a
 * peer that vanished would hold its memory forever, and 400 if the body is truncated. The connection survives the errors.
 */
export async function readBody(
  request: IncomingMessage,
  limit: BodyLimit,
  reserve: (bytes: number) => void = () => {},
  timeoutMs = chunkTimeoutMs,
): Promise<Buffer> {
  const { 'content-length': contentLength, 'content-encoding': encoding = 'identity' } = request.headers
  if (encoding.toLowerCase() !== 'identity') {
    throw invalidInput('content-encoding is not supported; send the body uncompressed', { status: 415 })
  }
  const announced = contentLength === undefined ? Number.POSITIVE_INFINITY : Number(contentLength)
  if (announced !== Number.POSITIVE_INFINITY && announced > limit.maxBytes) throw bodyTooLargeError(limit)
  const blocks: Buffer[] = []
  let length = 0
  let free = Buffer.alloc(0)
  for await (const chunk of readChunks(request, timeoutMs)) {
    if (length + chunk.length > limit.maxBytes) throw bodyTooLargeError(limit)
    for (let rest = chunk; rest.length > 0;) {
      if (free.length === 0) {
        const size = Math.min(blockBytes, Math.max(announced - length, 1))
        reserve(size)
        free = Buffer.allocUnsafe(size)
        blocks.push(free)
      }
      const taken = rest.subarray(0, free.length)
      free.set(taken)
      free = free.subarray(taken.length)
      length += taken.length
      rest = rest.subarray(taken.length)
    }
  }
  const [only] = blocks
  return blocks.length === 1 && only !== undefined ? only.subarray(0, length) : Buffer.concat(blocks, length)
}

async function* readChunks(request: IncomingMessage, timeoutMs: number): AsyncGenerator<Uint8Array, void> {
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, void>
  try {
    for (;;) {
      const { done, value } = await withTimeout(chunks.next(), timeoutMs)
      if (done === true) return
      yield value
    }
  } catch (error) {
    if (error instanceof TimeoutExceeded) {
      throw invalidInput(`the body stopped arriving for ${timeoutMs / 1000} s; send the request again`, {
        status: 408,
        cause: error,
      })
    }
    throw invalidInput('the body ended before it was complete', { cause: error })
  } finally {
    // Not awaited: it would wait for a chunk that does not arrive.
    void chunks.return?.()
  }
}

function bodyTooLargeError({ setting, maxBytes }: BodyLimit): CatalogError {
  const ofDev = setting === 'maxUploadBytes' ? ', or --max-upload of dev' : ''
  const limit = `${formatBytes(maxBytes)} (limits.${setting} of the bundled catalog${ofDev})`
  return invalidInput(`the body is larger than the limit of ${limit}`, { status: 413 })
}

/** Takes bytes from the budget. Throws ServiceUnavailable (503) if too few are left. */
export type Reserve = (bytes: number) => void

/** The memory for Arrow data that the engine cannot stream, shared by all requests. */
export class MemoryBudget {
  readonly #bytes: number
  #freeBytes: number

  constructor(bytes: number) {
    this.#bytes = bytes
    this.#freeBytes = bytes
  }

  get reservedBytes(): number {
    return this.#bytes - this.#freeBytes
  }

  /** Returns what it reserved when `work` has ended. */
  async run<Result>(work: (reserve: Reserve) => Promise<Result>): Promise<Result> {
    let reserved = 0
    const reserve = (bytes: number): void => {
      if (bytes > this.#freeBytes) {
        throw new CatalogError(
          'ServiceUnavailable',
          'no memory for Arrow data is left (limits.maxUploadMemoryBytes of the bundled catalog); retry in 1 s',
          {
            headers: { 'retry-after': '1' },
          },
        )
      }
      this.#freeBytes -= bytes
      reserved += bytes
    }
    try {
      return await work(reserve)
    } finally {
      this.#freeBytes += reserved
    }
  }
}
