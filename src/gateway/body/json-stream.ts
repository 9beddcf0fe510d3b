import { Readable } from 'node:stream'
import type { RunInSlices } from '../../lib/async/run-in-slices.ts'
import type { JsonTransformer } from '../json/json-transformer.ts'
import type { CheckDecision } from './checked-source.ts'

const highWaterMark = 64 * 1024

/** Reading a smaller chunk costs less than a pause. */
const minSlicedBytes = 1024

/** Reads a chunk of a body in slices, in which the event loop serves other callers. */
export async function readInSlices(
  text: JsonTransformer,
  chunk: Buffer,
  runInSlices: RunInSlices,
): Promise<void> {
  if (chunk.length < minSlicedBytes) text.push(chunk)
  else await runInSlices(text.pushInSteps(chunk))
}

/**
 * Streams a checked JSON body: the part that has been read, then the rest as it arrives. The last chunk, and the
 * last byte of the JSON, are held back until `onEnd` and `check` have accepted the whole body. The stream fails at the first
 * error, so the upstream never receives complete JSON before all checks have passed.
 */
export function createJsonStream(
  text: JsonTransformer,
  rest: AsyncGenerator<Buffer, void>,
  runInSlices: RunInSlices,
  onEnd: (isObject: boolean) => void,
  check: CheckDecision,
): Readable {
  const stream = Readable.from(readCheckedChunks(text, rest, runInSlices, onEnd, check), {
    objectMode: false,
    highWaterMark,
  })
  // An attempt that has ended no longer listens for errors of the remaining body.
  stream.on('error', () => undefined)
  // Closing a generator that was never started does not close the inner generator.
  return stream.once('close', () => void rest.return())
}

async function* readCheckedChunks(
  text: JsonTransformer,
  rest: AsyncIterable<Buffer>,
  runInSlices: RunInSlices,
  onEnd: (isObject: boolean) => void,
  check: CheckDecision,
): AsyncGenerator<Buffer, void> {
  for await (const chunk of rest) {
    await readInSlices(text, chunk, runInSlices)
    yield* text.takeReady()
    await check('meanwhile')
  }
  onEnd(text.end())
  await check('end')
  yield* text.takeRest()
}
