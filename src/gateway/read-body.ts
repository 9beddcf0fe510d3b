import type { Readable } from 'node:stream'
import { InterfaceError, invalidInput } from '../interface/errors.ts'

/**
 * Reads a whole body into memory, never more than `limit` bytes of it.
 * Throws InvalidInput with status 413 for a larger one, as soon as that is known, and 400 for one cut short.
 */
export async function readBody(
  body: Readable,
  contentLength: number | undefined,
  limit: number,
): Promise<Buffer> {
  if (contentLength !== undefined && contentLength > limit) throw tooLarge(limit)
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > limit) throw tooLarge(limit)
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof InterfaceError) throw error
    throw invalidInput('the body ended before it was complete', { cause: error })
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length)
}

function tooLarge(limit: number): InterfaceError {
  return invalidInput(`the JSON body is larger than the ${limit} bytes that are accepted`, { status: 413 })
}
