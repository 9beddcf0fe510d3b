import { Readable } from 'node:stream'
import type { JsonTransformer } from '../json/json-transformer.ts'

const highWaterMark = 64 * 1024

/**
 * Streams a checked JSON body: the part that has been read, then the rest as it arrives. The last chunk is held back
 * until `end` has accepted the whole body. The stream fails at the first error, so the upstream never receives a
 * complete invalid body.
 */
export function createJsonStream(
  text: JsonTransformer,
  rest: AsyncGenerator<Buffer, void>,
  onEnd: (isObject: boolean) => void,
): Readable {
  const stream = Readable.from(readCheckedChunks(text, rest, onEnd), { objectMode: false, highWaterMark })
  // An attempt that has ended no longer listens for errors of the remaining body.
  stream.on('error', () => undefined)
  // Closing a generator that was never started does not close the inner generator.
  return stream.once('close', () => void rest.return())
}

async function* readCheckedChunks(
  text: JsonTransformer,
  rest: AsyncIterable<Buffer>,
  onEnd: (isObject: boolean) => void,
): AsyncGenerator<Buffer, void> {
  for await (const chunk of rest) {
    text.push(chunk)
    yield* text.takeReady()
  }
  onEnd(text.end())
  yield* text.takeRest()
}
