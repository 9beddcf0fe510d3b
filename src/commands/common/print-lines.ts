import { once } from 'node:events'

/**
 * Prints lines on standard output with back-pressure. Resolves with false, and stops reading lines, if standard output
 * is closed.
 */
export async function printLines(lines: AsyncIterable<string>): Promise<boolean> {
  let isPrinted = true
  const onError = (): void => {
    isPrinted = false
  }
  process.stdout.on('error', onError)
  try {
    for await (const line of lines) {
      if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain').catch(() => undefined)
      if (!isPrinted) break
    }
  } finally {
    process.stdout.off('error', onError)
  }
  return isPrinted
}
