import type { IncomingMessage } from 'node:http'
import { CatalogError, invalidInput } from 'catalog-gateway/catalog-api'
import type { BackendSettings } from '../settings/backend-settings.ts'
import { formatBytes, TimeoutExceeded, withTimeout } from 'catalog-gateway/lib'

/** Between two chunks. Longer than the default of a gateway in front, which knows the client. */
const chunkTimeoutMs = 120_000
const blockBytes = 1024 * 1024

/**
 * Reads a body of at most `maxBytes`, the value of a setting. Calls `reserve` before allocating memory for what arrives, not
 * for what is announced. Throws InvalidInput: with status 415 for a compressed body, 413 above the limit, unread if its
 * length is announced, 408 if no chunk arrives in time, as a peer that vanished would hold its memory forever, and 400 if
 * the body is truncated. The connection survives the errors.
 */
export async function readBody(
  request: IncomingMessage,
  setting: 'maxJsonBytes' | 'maxUploadBytes',
  maxBytes: number,
  reserve: (bytes: number) => void = () => {},
  timeoutMs = chunkTimeoutMs,
): Promise<Buffer> {
  const { 'content-length': contentLength, 'content-encoding': encoding = 'identity' } = request.headers
  if (encoding.toLowerCase() !== 'identity') {
    throw invalidInput('content-encoding is not supported; send the body uncompressed', { status: 415 })
  }
  const announced = Number(contentLength ?? Number.POSITIVE_INFINITY)
  if (contentLength !== undefined && announced > maxBytes) throw bodyTooLargeError(setting, maxBytes)
  const blocks: Buffer[] = []
  let length = 0
  let free = Buffer.alloc(0)
  for await (const chunk of readChunks(request, timeoutMs)) {
    if (length + chunk.length > maxBytes) throw bodyTooLargeError(setting, maxBytes)
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
  } catch (cause) {
    if (!(cause instanceof TimeoutExceeded))
      throw invalidInput('the body ended before it was complete', { cause })
    const message = `the body stopped arriving for ${timeoutMs / 1000} s; send the request again`
    throw invalidInput(message, { status: 408, cause })
  } finally {
    // Not awaited: it would wait for a chunk that does not arrive.
    void chunks.return?.()
  }
}

function bodyTooLargeError(setting: string, maxBytes: number): CatalogError {
  const limit = `${formatBytes(maxBytes)} (limits.${setting} of the bundled catalog)`
  return invalidInput(`the body is larger than the limit of ${limit}`, { status: 413 })
}

export type BodyReader = ReturnType<typeof createBodyReader>

/** Reads bodies within the limits of the settings: of each, and of the memory for Arrow data, which the engine cannot stream. */
export function createBodyReader(limits: BackendSettings['limits']) {
  let reservedBytes = 0
  return {
    getReservedBytes: () => reservedBytes,
    readJson: (request: IncomingMessage): Promise<Buffer> =>
      readBody(request, 'maxJsonBytes', limits.maxJsonBytes),
    /** The memory counts until `work` has ended. Throws ServiceUnavailable (503) if too little is left. */
    async withUpload<Result>(
      request: IncomingMessage,
      work: (upload: Buffer) => Promise<Result>,
    ): Promise<Result> {
      let ofUpload = 0
      const reserve = (bytes: number): void => {
        if (reservedBytes + bytes > limits.maxUploadMemoryBytes) throw noMemoryError()
        reservedBytes += bytes
        ofUpload += bytes
      }
      try {
        return await work(await readBody(request, 'maxUploadBytes', limits.maxUploadBytes, reserve))
      } finally {
        reservedBytes -= ofUpload
      }
    },
  }
}

function noMemoryError(): CatalogError {
  const message =
    'no memory for Arrow data is left (limits.maxUploadMemoryBytes of the bundled catalog); retry in 1 s'
  return new CatalogError('ServiceUnavailable', message, { headers: { 'retry-after': '1' } })
}
