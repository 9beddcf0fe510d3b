import { writeAll } from '../../lib/index.ts'
import type { Sink } from './sink.ts'

const stdout = 1

/** A line is delivered when it is written to the pipe. */
export function createStdoutSink(): Sink {
  let isWriting = false
  let isClosed = false
  return {
    async deliver(batch) {
      // A write that is blocked by a full pipe cannot be cancelled, and another one would split its line.
      if (isWriting) throw new Error('standard output is blocked')
      isWriting = true
      try {
        await writeAll(stdout, Buffer.from(batch.map(({ text }) => `${text}\n`).join('')), () => isClosed)
      } finally {
        isWriting = false
      }
    },
    async close() {
      isClosed = true
    },
  }
}
