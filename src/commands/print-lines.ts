import { once } from 'node:events'

/** Prints lines on standard output no faster than they are read there; ends where nobody reads any more. */
export async function printLines(lines: AsyncIterable<string>): Promise<void> {
  let isClosed = false
  const closed = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error
    isClosed = true
  }
  process.stdout.on('error', closed)
  try {
    for await (const line of lines) {
      if (isClosed) return
      if (!process.stdout.write(`${line}\n`)) {
        await Promise.race([once(process.stdout, 'drain'), once(process.stdout, 'close')]).catch(
          () => undefined,
        )
      }
    }
  } finally {
    process.stdout.off('error', closed)
  }
}
