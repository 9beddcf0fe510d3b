import { streamToFile } from '../arrow/arrow-file.ts'
import type { NativeModule } from './native-module.ts'

/** An Arrow IPC stream with one row and one number. */
const oneRow = Buffer.from(
  '/////4AAAAAQAAAAAAAKABAADgAHAAgACgAAAAAAAAEQAAAAAAAEAAgACAAAAAQACAAAAAQAAAABAAAAFAAAABAAFAAEAAAADwAQAAAACAAQAAAAEAAA' +
    'ABQAAAAAAAACGAAAAAEAAABuAAAAAAAAAAgADAAIAAcACAAAAAAAAAEgAAAAAAAAAP////+IAAAAFAAAAAAAAAAMABYAFAAPABAABAAMAAAACAAA' +
    'AAAAAAAAAAADEAAAAAQACgAYAAwACAAEAAoAAAAUAAAAOAAAAAEAAAAAAAAAAAAAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIAAAAAAAA' +
    'AAAAAAABAAAAAQAAAAAAAAAAAAAAAAAAAAEAAAAAAAAA/////wAAAAA=',
  'base64',
)

/** Much longer than such a write waits behind the build of a large index. */
const stallTimeoutMs = 60_000

/**
 * Each call starts a write of one row in memory unless one is active, and returns true if that has taken longer than
 * `limitMs`. All writes pass through the engine's threads, so none completes once those deadlock.
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

/** An error also shows that the engine responds. */
async function writeInMemory(native: NativeModule, file: Buffer): Promise<void> {
  try {
    const connection = await native.Connection.new('memory://', {})
    await connection.createTable('row', file, 'create', [])
    connection.close()
  } catch {
    // Requests report their own errors.
  }
}
