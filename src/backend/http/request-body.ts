import type { IncomingMessage } from 'node:http'
import { CatalogError, invalidInput } from 'catalog-gateway/catalog-api'
import { formatBytes, TimeoutExceeded, withTimeout } from 'catalog-gateway/lib'

/** The body of a request. */
export interface Body {
  /** Readable once, with backpressure. Throws InvalidInput (400) if the body is truncated. */
  readonly chunks: AsyncIterable<Uint8Array>
  /** Bytes, if announced. */
  readonly length: number | undefined
}

/** The maximum size of a body, and its setting below `limits`. */
export interface BodyLimit {
  readonly setting: 'maxJsonBytes' | 'maxUploadBytes'
  readonly maxBytes: number
}

/** Between two chunks. Longer than the default of a gateway in front, which knows the client. */
const chunkTimeoutMs = 120_000
const blockBytes = 1024 * 1024

/**
 * The connection survives a reader that stops early. Throws InvalidInput with status 415 for a compressed body; reading
 * throws it with status 408 if no chunk arrives in time, as a peer that vanished would hold its memory forever.
 */
export function openBody(request: IncomingMessage, timeoutMs = chunkTimeoutMs): Body {
  const {
    'content-length': announced,
    'transfer-encoding': transfer,
    'content-encoding': encoding,
  } = request.headers
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw invalidInput('content-encoding is not supported; send the body uncompressed', { status: 415 })
  }
  const hasBody = announced !== undefined || transfer !== undefined
  const length = announced === undefined ? undefined : Number(announced)
  return { chunks: readChunks(request, timeoutMs), length: hasBody ? length : 0 }
}

/**
 * Calls `reserve` before allocating memory for what arrives, not for what is announced. Throws InvalidInput (413) above
 * the limit, unread if its length is announced.
 */
export async function readBody(
  { chunks, length: announced = Number.POSITIVE_INFINITY }: Body,
  { setting, maxBytes }: BodyLimit,
  reserve: (bytes: number) => void = () => {},
): Promise<Buffer> {
  if (announced !== Number.POSITIVE_INFINITY && announced > maxBytes)
    throw bodyTooLargeError({ setting, maxBytes })
  const blocks: Buffer[] = []
  let length = 0
  let free = Buffer.alloc(0)
  for await (const chunk of chunks) {
    if (length + chunk.length > maxBytes) throw bodyTooLargeError({ setting, maxBytes })
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
