import { once } from 'node:events'
import type { Writable } from 'node:stream'

/** Streams and environment of a command. */
export interface Io {
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: Writable
  readonly environment: NodeJS.ProcessEnv
}

export function printLine({ stdout }: Io, line: string): void {
  stdout.write(`${line}\n`)
}

export function printJson(io: Io, value: unknown): void {
  printLine(io, JSON.stringify(value, undefined, 2))
}

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
