import type { Writable } from 'node:stream'

/** What a command uses of its process, besides files and connections. */
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
