import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Request to a runner process: reload `mutated` and run tests until the first failure. */
export interface RunRequest {
  readonly mutated: string
  /** Test files and folders, relative to the root, in execution order. */
  readonly tests: readonly string[]
}

export interface RunResult {
  readonly files: number
  /** Message of the first failure; undefined if all tests passed. */
  readonly failure: string | undefined
}

const processFile = fileURLToPath(new URL('./runner-process.ts', import.meta.url))
const tsx = import.meta.resolve('tsx')

export class TestRunner {
  readonly #root: string
  #process: ChildProcess | undefined

  /** `root` holds the copy of the tree. */
  constructor(root: string) {
    this.#root = root
  }

  /** Resolves to undefined on timeout. */
  async run(request: RunRequest, timeoutMs: number): Promise<RunResult | undefined> {
    const child = await this.#start()
    const timeout = AbortSignal.timeout(timeoutMs)
    child.send(request)
    try {
      return (await nextMessage(child, timeout)) as RunResult
    } catch (error) {
      this.close()
      if (timeout.aborted) return undefined
      throw error
    }
  }

  close(): void {
    const pid = this.#process?.pid
    this.#process = undefined
    // The group includes the workers of vitest: one in an endless loop does not notice that its parent has ended.
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  }

  async #start(): Promise<ChildProcess> {
    if (this.#process !== undefined) return this.#process
    const child = fork(processFile, {
      cwd: this.#root,
      detached: true,
      execArgv: ['--import', tsx],
      env: { ...process.env, MUTANTS: '1' },
      stdio: 'ignore',
    })
    this.#process = child
    await nextMessage(child)
    return child
  }
}

/** Rejects if the process ends before it sends a message, or if `signal` is aborted. */
async function nextMessage(child: ChildProcess, signal?: AbortSignal): Promise<unknown> {
  const resolved = new AbortController()
  const options = { signal: AbortSignal.any([resolved.signal, ...(signal === undefined ? [] : [signal])]) }
  try {
    return await Promise.race([
      once(child, 'message', options).then(([message]) => message as unknown),
      once(child, 'exit', options).then(() => {
        throw new Error('the process that runs the tests has ended')
      }),
    ])
  } finally {
    resolved.abort()
  }
}
