import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findStaleSource } from '../support/compiled-sources.ts'

export const projectFolder = fileURLToPath(new URL('../../', import.meta.url))

const announcementMs = 60_000

interface ProgramOptions {
  readonly folder?: string
  readonly environment?: Readonly<Record<string, string>>
  /** Executable of Node; default: that of the tests. */
  readonly node?: string | undefined
  /** Sends a signal to all of its child processes as well, as Ctrl-C does in a terminal. */
  readonly ownGroup?: boolean
}

export interface ProgramEnd {
  /** Null if a signal ended it. */
  readonly status: number | null
  readonly output: string
  readonly messages: string
}

/** A program in its own process. The setup of every test file kills it after the tests at the latest. */
export interface Program {
  readonly pid: number
  /** Resolves when it has ended and all its output was read. */
  readonly ended: Promise<ProgramEnd>
  output(): string
  messages(): string
  /** Closes the reading ends of its standard output and standard error. */
  stopReading(): void
  write(text: string): void
  signal(signal: NodeJS.Signals): void
  /** Waits for the pattern on standard output and returns its first group. Rejects if the program ends before. */
  announced(pattern: RegExp): Promise<string>
}

/** Starts the program as users have it: the output of `npm run build`. */
export function startProgram(parameters: readonly string[], options: ProgramOptions = {}): Program {
  requireFreshBuild()
  return startNode([join(projectFolder, 'dist', 'main.js'), ...parameters], options)
}

export async function runProgram(
  parameters: readonly string[],
  options?: ProgramOptions,
): Promise<ProgramEnd> {
  return startProgram(parameters, options).ended
}

export function startScript(file: URL, parameters: readonly string[]): Program {
  return startNode(['--import', 'tsx', fileURLToPath(file), ...parameters], {})
}

const running = new Set<ChildProcess>()

/** Kills the programs that are still running. */
export function killPrograms(): void {
  for (const child of running) child.kill('SIGKILL')
}

export function startNode(
  parameters: readonly string[],
  { folder, environment, node = process.execPath, ownGroup = false }: ProgramOptions,
): Program {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('CATALOG_GATEWAY__'))
  const child = spawn(node, parameters, {
    cwd: folder ?? projectFolder,
    env: { ...Object.fromEntries(inherited), ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: ownGroup,
  })
  const { pid } = child
  if (pid === undefined) throw new Error('the process was not started')
  running.add(child)
  let output = ''
  let messages = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (messages += text))
  // A process that has ended reads no more; tests check its end.
  child.stdin.on('error', () => undefined)
  const ended = once(child, 'close').then(([status]) => {
    running.delete(child)
    return { status: status as number | null, output, messages }
  })
  return {
    pid,
    ended,
    output: () => output,
    messages: () => messages,
    stopReading() {
      child.stdout.destroy()
      child.stderr.destroy()
    },
    write: (text) => void child.stdin.write(text),
    signal: (signal) => void (ownGroup ? process.kill(-pid, signal) : child.kill(signal)),
    announced: async (pattern) => {
      const timeout = AbortSignal.timeout(announcementMs)
      for (;;) {
        const found = pattern.exec(output)?.[1]
        if (found !== undefined) return found
        const next = await Promise.race([
          once(child.stdout, 'data', { signal: timeout }).catch(() => 'timeout'),
          ended,
        ])
        if (typeof next === 'string' || 'status' in next) {
          throw new Error(`the program did not print ${pattern}, but:\n${output}${messages}`)
        }
      }
    },
  }
}

let isFresh = false

/** A stale build makes test results meaningless. */
export function requireFreshBuild(): void {
  const stale = isFresh ? undefined : findStaleSource()
  if (stale !== undefined)
    throw new Error(`dist/ was not built from src/${stale} as it is now: run "npm run build" (npm test does)`)
  isFresh = true
}
