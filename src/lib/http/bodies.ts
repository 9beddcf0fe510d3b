import { createHash } from 'node:crypto'
import { brotliDecompressSync, constants, gunzipSync, inflateSync } from 'node:zlib'

/** Reads a whole body. Resolves to undefined above `maxBytes`: the rest is not read, and its connection is closed. */
export async function readBounded(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

const decoders: Readonly<Record<string, (body: Uint8Array, maxOutputLength: number) => Buffer>> = {
  gzip: decodeGzip,
  'x-gzip': decodeGzip,
  deflate: (body, maxOutputLength) =>
    inflateSync(body, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH }),
  br: (body, maxOutputLength) =>
    brotliDecompressSync(body, { maxOutputLength, finishFlush: constants.BROTLI_OPERATION_FLUSH }),
}

/**
 * Decodes a body with one content coding (RFC 9110, section 8.4), as far as it is there if it is truncated. Undefined for
 * an unknown coding, a body that does not have it, and one of more than `maxBytes` when decoded. Synchronous, so only for
 * small bodies.
 */
export function decodeContent(body: Uint8Array, coding: string, maxBytes: number): Buffer | undefined {
  try {
    return decoders[coding.trim().toLowerCase()]?.(body, maxBytes)
  } catch {
    return undefined
  }
}

function decodeGzip(body: Uint8Array, maxOutputLength: number): Buffer {
  return gunzipSync(body, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH })
}

/** Returns a strong entity tag of a representation (RFC 9110, section 8.8.3). */
export function createEntityTag(representation: Buffer | string): string {
  return `"${createHash('sha256').update(representation).digest('base64url').slice(0, 22)}"`
}

/** Whether a value of If-None-Match lists the tag, or any: then the response is 304 (RFC 9110, section 13.1.2). */
export function listsEntityTag(ifNoneMatch: string, tag: string): boolean {
  return (
    ifNoneMatch.trim() === '*' ||
    ifNoneMatch.split(',').some((listed) => listed.trim().replace(/^W\//, '') === tag)
  )
}
