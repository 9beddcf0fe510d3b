import type { IncomingMessage } from 'node:http'
import { type CatalogError, invalidInput } from 'catalog-gateway/catalog-api'
import { formatBytes } from 'catalog-gateway/lib'
import type { Upload } from '../contract/catalog.ts'

/** The maximum size of a body, and its setting below `limits`. */
export interface BodyLimit {
  readonly setting: 'maxJsonBytes' | 'maxUploadBytes'
  readonly maxBytes: number
}

/** The connection survives a reader that stops early. Throws InvalidInput with status 415 for a compressed body. */
export function openUpload(request: IncomingMessage): Upload {
  const {
    'content-length': announced,
    'transfer-encoding': transfer,
    'content-encoding': encoding,
  } = request.headers
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw invalidInput('content-encoding is not supported; send the body uncompressed', { status: 415 })
  }
  const hasBody = announced !== undefined || transfer !== undefined
  return { chunks: readChunks(request), length: hasBody ? parseLength(announced) : 0 }
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

async function* readChunks(request: IncomingMessage): AsyncGenerator<Uint8Array, void> {
  try {
    yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
  } catch (error) {
    throw invalidInput('the body ended before it was complete', { cause: error })
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
