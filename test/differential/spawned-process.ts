import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface SpawnedProcess {
  /** First line of its standard output. */
  readonly firstLine: string
  /** Lines of its standard error; complete after it has exited. */
  readonly log: readonly LogLine[]
  /** Closes its standard input; resolves with its exit status. */
  stop(): Promise<number | null>
  /** Resolves when it has exited. */
  kill(): Promise<void>
}

/** A JSON line, or `{ unparsed }` for any other line. */
export type LogLine = Readonly<Record<string, unknown>>

/** Starts a TypeScript program, and waits for its first line. Rejects if it exits before. */
export async function spawnProcess(program: URL, parameters: readonly string[]): Promise<SpawnedProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(program), ...parameters], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const closed = once(child, 'close') as Promise<[status: number | null]>
  const log: LogLine[] = []
  createInterface({ input: child.stderr }).on('line', (line) => log.push(parseLine(line)))
  const [firstLine] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    closed.then(() => {
      throw new Error(`the process exited: ${JSON.stringify(log)}`)
    }),
  ])) as [string]
  return {
    firstLine,
    log,
    async stop() {
      child.stdin.end()
      const [status] = await closed
      return status
    },
    async kill() {
      child.kill('SIGKILL')
      await closed
    },
  }
}

function parseLine(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine
  } catch {
    return { unparsed: line }
  }
}
