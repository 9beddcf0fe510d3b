import { write } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { hasErrorCode, withTimeout } from '../../lib/index.ts'
import { deliveryTimeoutMs, type Sink } from './sink.ts'

const stdout = 1

/** A line is delivered when it is written to the pipe. The Node stream would block the process while a pipe is full. */
export function createStdoutSink(): Sink {
  let lastWrite = Promise.resolve()
  return {
    async deliver(batch, signal) {
      // A write blocked by a full pipe cannot be cancelled: later writes wait until it completes.
      await withTimeout(lastWrite, deliveryTimeoutMs, signal)
      const bytes = Buffer.from(batch.map(({ text }) => `${text}\n`).join(''))
      const writing = writeAll(bytes, signal)
      lastWrite = writing.catch(() => undefined)
      await withTimeout(writing, deliveryTimeoutMs, signal)
    },
    close: async () => undefined,
  }
}

async function writeAll(bytes: Buffer, signal: AbortSignal): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    try {
      written += await writeSome(bytes.subarray(written))
    } catch (error) {
      if (!hasErrorCode(error, 'EAGAIN')) throw error
      // Complete a started write, so that the next one does not split a line.
      await pause(signal.aborted ? 1_000 : 20, undefined, { ref: false })
    }
  }
}

function writeSome(bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    write(stdout, bytes, (error, written) => (error ? reject(error) : resolve(written)))
  })
}
