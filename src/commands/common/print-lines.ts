import { once } from 'node:events'
import type { Io } from './io.ts'

/**
 * Prints lines on standard output with back-pressure. Resolves with false, and stops reading lines, if standard output
 * is closed.
 */
export async function printLines({ stdout }: Io, lines: AsyncIterable<string>): Promise<boolean> {
  let isPrinted = true
  const onError = (): void => {
    isPrinted = false
  }
  stdout.on('error', onError)
  try {
    for await (const line of lines) {
      if (!stdout.write(`${line}\n`)) await once(stdout, 'drain').catch(() => undefined)
      if (!isPrinted) break
    }
  } finally {
    stdout.off('error', onError)
  }
  return isPrinted
}
