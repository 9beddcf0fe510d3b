import { readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import type { Container, ContainerState, ContainerStatus } from 'kubernetes-types/core/v1.js'
import type { ContainerProcess, ExitCode } from './container-process.ts'
import { MissingContent } from './pod-contents.ts'
import { runProbes } from './probes.ts'

interface Options {
  readonly container: Container
  readonly restartPolicy: string
  /** On loopback. */
  readonly address: string
  readonly logFile: string
  readonly gracePeriodSeconds: number
  /** Rejects with `MissingContent` as long as something is missing. */
  start(): Promise<ContainerProcess>
  onChange(): void
}

/** Shorter than the kubelet's ten seconds to five minutes. */
const backoffMs = { first: 1_000, most: 8_000 }
const retryMs = 500
/** What the kubelet leaves a container after a long hook. */
const leastGraceMs = 2_000

/** One container of a pod: starts it, probes it, and starts it again as the pod wants. */
export class RunningContainer {
  readonly #options: Options
  readonly #stopping = new AbortController()
  #process: ContainerProcess | undefined
  #state: ContainerState = { waiting: { reason: 'ContainerCreating' } }
  #lastState: ContainerState = {}
  #restarts = 0
  #hasStarted = false
  #isReady = false

  constructor(options: Options) {
    this.#options = options
  }

  get status(): ContainerStatus {
    const { name, image = '' } = this.#options.container
    return {
      name,
      image,
      imageID: image,
      ready: this.#isReady,
      started: this.#hasStarted,
      restartCount: this.#restarts,
      state: this.#state,
      lastState: this.#lastState,
    }
  }

  get pid(): number | undefined {
    return this.#state.running ? this.#process?.pid : undefined
  }

  /** Resolves with its exit code when it has ended for good. */
  async run(): Promise<ExitCode> {
    for (let backoff = backoffMs.first; ; backoff = Math.min(backoff * 2, backoffMs.most)) {
      const process = await this.#start()
      if (process === undefined) return 0
      const exitCode = await this.#runOnce(process)
      const { restartPolicy } = this.#options
      if (
        this.#isStopping ||
        restartPolicy === 'Never' ||
        (restartPolicy === 'OnFailure' && exitCode === 0)
      ) {
        return exitCode
      }
      this.#restarts += 1
      this.#lastState = this.#state
      this.#set({ waiting: { reason: 'CrashLoopBackOff', message: `back-off ${backoff} ms` } })
      await this.#sleep(backoff)
      if (this.#isStopping) return exitCode
    }
  }

  /** Ends it within its grace period, which ends then. */
  async stop(end: number): Promise<void> {
    this.#stopping.abort()
    if (this.#process !== undefined) await this.#end(this.#process, end)
  }

  kill(): void {
    this.#stopping.abort()
    this.#process?.signal('SIGKILL')
  }

  /** Undefined if it is being stopped. */
  async #start(): Promise<ContainerProcess | undefined> {
    const { image = '' } = this.#options.container
    while (!this.#isStopping) {
      if (!image.includes('catalog-gateway')) {
        this.#set({ waiting: { reason: 'ErrImagePull', message: `there is no image ${image}` } })
        await this.#sleep(retryMs)
        continue
      }
      try {
        return await this.#options.start()
      } catch (error) {
        if (!(error instanceof MissingContent)) throw error
        this.#set({ waiting: { reason: 'CreateContainerConfigError', message: error.message } })
        await this.#sleep(retryMs)
      }
    }
    return undefined
  }

  async #runOnce(process: ContainerProcess): Promise<ExitCode> {
    const { container, address, gracePeriodSeconds } = this.#options
    const startedAt = currentTime()
    this.#process = process
    this.#set({ running: { startedAt } })
    // It was stopped while it started.
    if (this.#isStopping) process.signal('SIGKILL')
    const probing = new AbortController()
    const listener = {
      onStarted: () => this.#change(() => (this.#hasStarted = true)),
      onReady: (isReady: boolean) => this.#change(() => (this.#isReady = isReady)),
      onFailed: () => void this.#end(process, Date.now() + gracePeriodSeconds * 1_000),
    }
    const probes = runProbes(container, address, listener, probing.signal)
    const exitCode = await process.exited
    probing.abort()
    await probes
    this.#hasStarted = false
    this.#isReady = false
    const reason = exitCode === 0 ? 'Completed' : 'Error'
    const message = exitCode === 0 ? '' : await this.#terminationMessage()
    this.#set({ terminated: { exitCode, reason, message, startedAt, finishedAt: currentTime() } })
    return exitCode
  }

  async #end(process: ContainerProcess, end: number): Promise<void> {
    const hook = this.#options.container.lifecycle?.preStop
    if (hook?.exec?.command)
      await Promise.race([process.run(hook.exec.command), process.exited, waitUntil(end)])
    process.signal('SIGTERM')
    const killing = globalThis.setTimeout(
      () => process.signal('SIGKILL'),
      Math.max(end - Date.now(), leastGraceMs),
    )
    await process.exited
    clearTimeout(killing)
  }

  /** The end of its log, as with `FallbackToLogsOnError`. */
  async #terminationMessage(): Promise<string> {
    if (this.#options.container.terminationMessagePolicy !== 'FallbackToLogsOnError') return ''
    return (await readFile(this.#options.logFile, 'utf8')).slice(-2_048)
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted
  }

  async #sleep(ms: number): Promise<void> {
    await setTimeout(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined)
  }

  #set(state: ContainerState): void {
    this.#change(() => (this.#state = state))
  }

  #change(change: () => void): void {
    const before = JSON.stringify(this.status)
    change()
    if (JSON.stringify(this.status) !== before) this.#options.onChange()
  }
}

/** In the format of Kubernetes, which has no fractions of a second. */
export function currentTime(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z')
}

async function waitUntil(end: number): Promise<void> {
  await setTimeout(Math.max(end - Date.now(), 0))
}
