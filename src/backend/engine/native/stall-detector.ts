import { streamToFile } from '../arrow/arrow-file.ts'
import type { NativeModule } from './native-module.ts'

/** An Arrow IPC stream of one row with one number. */
const oneRow = Buffer.from(
  '/////4AAAAAQAAAAAAAKABAADgAHAAgACgAAAAAAAAEQAAAAAAAEAAgACAAAAAQACAAAAAQAAAABAAAAFAAAABAAFAAEAAAADwAQAAAACAAQAAAAEAAA' +
    'ABQAAAAAAAACGAAAAAEAAABuAAAAAAAAAAgADAAIAAcACAAAAAAAAAEgAAAAAAAAAP////+IAAAAFAAAAAAAAAAMABYAFAAPABAABAAMAAAACAAA' +
    'AAAAAAAAAAADEAAAAAQACgAYAAwACAAEAAoAAAAUAAAAOAAAAAEAAAAAAAAAAAAAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIAAAAAAAA' +
    'AAAAAAABAAAAAQAAAAAAAAAAAAAAAAAAAAEAAAAAAAAA/////wAAAAA=',
  'base64',
)

/** A minute is much longer than such a write waits behind the build of a large index. */
const stallTimeoutMs = 60_000

/**
 * Makes a check of whether the engine still works. Each call begins a write of one row in memory, unless the last
 * one has not ended yet; it is true when that has taken longer than `limitMs`. All writes pass through the threads
 * of the engine, which none does any more when they wait for each other.
 */
export function createStallDetector(native: NativeModule, limitMs = stallTimeoutMs): () => boolean {
  const { file } = streamToFile(oneRow, oneRow.length)
  let started: number | undefined
  return () => {
    if (started !== undefined) return performance.now() - started > limitMs
    started = performance.now()
    void writeInMemory(native, file).finally(() => {
      started = undefined
    })
    return false
  }
}

/** An error is an answer, too: only silence is none. */
async function writeInMemory(native: NativeModule, file: Buffer): Promise<void> {
  try {
    const connection = await native.Connection.new('memory://', {})
    await connection.createTable('row', file, 'create', [])
    connection.close()
  } catch {
    // Errors of requests are reported with them.
  }
}
