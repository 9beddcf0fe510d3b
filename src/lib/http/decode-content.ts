import { brotliDecompressSync, constants, gunzipSync, inflateSync } from 'node:zlib'

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
