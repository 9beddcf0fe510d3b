import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { readdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, onTestFinished } from 'vitest'

/** The folder of the project. */
export const projectFolder = fileURLToPath(new URL('../../', import.meta.url))

const announcementMs = 60_000

/** How a program is run. */
interface ProgramOptions {
  readonly folder?: string
  readonly environment?: Readonly<Record<string, string>>
  /** A signal goes to all processes that it started as well, as Ctrl-C does in a terminal. */
  readonly ownGroup?: boolean
}

/** How a program ended. */
export interface ProgramEnd {
  /** Null where a signal ended it. */
  readonly status: number | null
  readonly output: string
  readonly messages: string
}

/** A program in a process of its own. It ends with the tests of the file at the latest. */
export interface Program {
  readonly pid: number
  /** Resolves when it has ended, and all that it printed was read. */
  readonly ended: Promise<ProgramEnd>
  /** What it has printed on standard output so far. */
  output(): string
  /** What it has printed on standard error so far. */
  messages(): string
  /** Closes the reading ends of its standard output and standard error. */
  stopReading(): void
  write(text: string): void
  signal(signal: NodeJS.Signals): void
  /** What the first group of the pattern matches on standard output. Rejects when it ends without. */
  announced(pattern: RegExp): Promise<string>
}

/** Starts the program as users have it: what `npm run build` made of the sources. */
export function startProgram(parameters: readonly string[], options: ProgramOptions = {}): Program {
  requireFreshBuild()
  return startNode([join(projectFolder, 'dist', 'main.js'), ...parameters], options)
}

/** Runs the program to its end. */
export async function runProgram(
  parameters: readonly string[],
  options?: ProgramOptions,
): Promise<ProgramEnd> {
  return startProgram(parameters, options).ended
}

/** Starts a script of the tests in a process of its own. */
export function startScript(file: URL, parameters: readonly string[]): Program {
  return startNode(['--import', 'tsx', fileURLToPath(file), ...parameters], {})
}

/** A new folder that is removed when the test ends. Its name holds a space, as folders of users do. */
export async function temporaryFolder(): Promise<string> {
  const folder = await makeTemporaryFolder()
  onTestFinished(() => removeFolder(folder))
  return folder
}

/** A new folder, for those who remove it. */
export async function makeTemporaryFolder(): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), 'catalog gateway ')))
}

export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}

const running = new Set<ChildProcess>()

afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
})

function startNode(
  parameters: readonly string[],
  { folder, environment, ownGroup = false }: ProgramOptions,
): Program {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('CATALOG_GATEWAY__'))
  const child = spawn(process.execPath, parameters, {
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
  // A process that has ended reads no more; its end is what tests look at.
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

/** Old programs pass new tests, and new programs fail old ones: neither says anything. */
function requireFreshBuild(): void {
  if (isFresh) return
  const source = join(projectFolder, 'src')
  for (const file of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue
    const built = statSync(join(projectFolder, 'dist', file.replace(/\.ts$/, '.js')), {
      throwIfNoEntry: false,
    })
    if (built === undefined || built.mtimeMs < statSync(join(source, file)).mtimeMs) {
      throw new Error(
        `dist/ was not built from src/${file} as it is now: run "npm run build" (npm test does)`,
      )
    }
  }
  isFresh = true
}
