import type { IncomingMessage } from 'node:http'
import { type CatalogError, invalidInput } from 'catalog-gateway/catalog-api'
import { formatBytes, TimeoutExceeded, withTimeout } from 'catalog-gateway/lib'
import type { Upload } from '../catalog/catalog-call.ts'

/** The maximum size of a body, and its setting below `limits`. */
export interface BodyLimit {
  readonly setting: 'maxJsonBytes' | 'maxUploadBytes'
  readonly maxBytes: number
}

/** Between two chunks. Longer than the default of a gateway in front, which knows the client. */
const chunkTimeoutMs = 120_000

/**
 * The connection survives a reader that stops early. Throws InvalidInput with status 415 for a compressed body; reading
 * throws it with status 408 if no chunk arrives in time, as a peer that vanished would hold its memory forever.
 */
export function openUpload(request: IncomingMessage, timeoutMs = chunkTimeoutMs): Upload {
  const {
    'content-length': announced,
    'transfer-encoding': transfer,
    'content-encoding': encoding,
  } = request.headers
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw invalidInput('content-encoding is not supported; send the body uncompressed', { status: 415 })
  }
  const hasBody = announced !== undefined || transfer !== undefined
  return { chunks: readChunks(request, timeoutMs), length: hasBody ? parseLength(announced) : 0 }
}

/**
 * Calls `reserve` before allocating memory. Throws InvalidInput (413) above the limit, unread if its length is announced.
 */
export async function readBody(
  { chunks, length: announced }: Upload,
  { setting, maxBytes }: BodyLimit,
  reserve: (bytes: number) => void = () => {},
): Promise<Buffer> {
  if (announced === 0) return Buffer.alloc(0)
  if (announced !== undefined && announced > maxBytes) throw bodyTooLargeError({ setting, maxBytes })
  const buffer = announced === undefined ? undefined : allocate(announced, reserve)
  const received: Uint8Array[] = []
  let length = 0
  for await (const chunk of chunks) {
    if (length + chunk.length > maxBytes) throw bodyTooLargeError({ setting, maxBytes })
    if (buffer === undefined) {
      reserve(chunk.length)
      received.push(chunk)
    } else {
      buffer.set(chunk, length)
    }
    length += chunk.length
  }
  return buffer ?? Buffer.concat(received, length)
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

function parseLength(announced: string | undefined): number | undefined {
  return announced === undefined ? undefined : Number(announced)
}

/** With a known length, each chunk is copied only once. */
function allocate(length: number, reserve: (bytes: number) => void): Buffer {
  reserve(length)
  return Buffer.allocUnsafe(length)
}

function bodyTooLargeError({ setting, maxBytes }: BodyLimit): CatalogError {
  const ofDev = setting === 'maxUploadBytes' ? ', or --max-upload of dev' : ''
  const limit = `${formatBytes(maxBytes)} (limits.${setting} of the bundled catalog${ofDev})`
  return invalidInput(`the body is larger than the limit of ${limit}`, { status: 413 })
}
