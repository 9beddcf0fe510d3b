import { Readable } from 'node:stream'
import type { JsonTransformer } from '../json/json-transformer.ts'

const highWaterMark = 64 * 1024

/**
 * A JSON body as a stream of what is to go upstream: what has been read of it already, and the rest as it comes. Its
 * last piece is held back until `end` has judged that the whole is an object, or that it is none and need not be one;
 * the stream fails with the first thing that is wrong, so that nobody ever gets a whole body that was not good.
 */
export function createJsonStream(
  text: JsonTransformer,
  rest: AsyncGenerator<Buffer, void>,
  onEnd: (isObject: boolean) => void,
): Readable {
  const stream = Readable.from(readCheckedChunks(text, rest, onEnd), { objectMode: false, highWaterMark })
  // An attempt that has ended has no listener any more for what the rest of the body fails with.
  stream.on('error', () => undefined)
  // A generator that was never started ends without a word to the one within.
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
