import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A program of the tests in a process of its own, whose log is read. */
export interface SpawnedProcess {
  /** The first line on its standard output. */
  readonly firstLine: string
  /** The lines of JSON on its standard error; complete when it has ended. */
  readonly log: readonly LogLine[]
  /** Ends its standard input, or kills it; resolves with its exit status, null for one that was killed. */
  end(how: 'politely' | 'at once'): Promise<number | null>
}

export type LogLine = Readonly<Record<string, unknown>>

/** Starts it. Whatever it writes to standard error that is no JSON is a line with the member `garbage`. */
export async function spawnProcess(program: URL, parameters: readonly string[]): Promise<SpawnedProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(program), ...parameters], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close') as Promise<[status: number | null]>
  const log: LogLine[] = []
  createInterface({ input: child.stderr }).on('line', (line) => log.push(parsed(line)))
  const [firstLine] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    ended.then(() => {
      throw new Error(`the program ended: ${JSON.stringify(log)}`)
    }),
  ])) as [string]
  return {
    firstLine,
    log,
    async end(how) {
      if (how === 'politely') child.stdin.end()
      else child.kill('SIGKILL')
      const [status] = await ended
      return status
    },
  }
}

function parsed(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine
  } catch {
    return { garbage: line }
  }
}
