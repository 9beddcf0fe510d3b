import cluster, { type Worker } from 'node:cluster'
import type { Charge } from '../limits/shared/shared-buckets.ts'
import type { WorkerReports, StartMessage, MessageFromWorker, MessageToWorker } from './worker-messages.ts'

/** A worker, seen from the primary process. */
export interface WorkerProcess {
  isDead(): boolean
  /** Resolves with its URL when it takes requests. Rejects when it could not begin, with what is to be told of it. */
  readonly serving: Promise<string>
  /** Resolves with its exit status, or with the signal that ended it. Never rejects. */
  readonly ended: Promise<number | string>
  /** Undefined where there is no answer in so many milliseconds, or none to come any more. */
  requestReport<About extends keyof WorkerReports>(
    about: About,
    timeoutMs: number,
  ): Promise<WorkerReport<About> | undefined>
  /** Has it read its files again; one that has not begun is about to read them. */
  reload(): void
  /** Tells it to finish what it is at, and to end. */
  stop(): void
  kill(): void
}

/** An answer, in an object because it may be undefined. */
interface WorkerReport<About extends keyof WorkerReports> {
  readonly answer: WorkerReports[About]
}

/** Counts what callers took of limits, for all workers, and answers how full the buckets are. */
export type ChargeFunction = (charges: readonly Charge[]) => readonly number[]

/** A worker says why it cannot begin, in words for the user. */
export class WorkerStartFailed extends Error {
  override readonly name = 'WorkerFailed'
}

/** Starts a process that runs the same command as this one, and has it begin. */
export function forkWorker(beginning: StartMessage, charge: ChargeFunction): WorkerProcess {
  const worker = cluster.fork()
  const waiting = new Map<number, (responded: { answer: unknown } | undefined) => void>()
  let requested = 0
  let isStopping = false
  const ended = waitForEnd(worker).finally(() => {
    for (const response of waiting.values()) response(undefined)
  })
  const serving = new Promise<string>((resolve, reject) => {
    worker.on('message', (message: MessageFromWorker) => {
      if (message.what === 'charge') {
        sendToWorker(worker, { what: 'charged', id: message.id, fills: charge(message.charges) })
      } else if (message.what === 'there') sendToWorker(worker, isStopping ? { what: 'stop' } : beginning)
      else if (message.what === 'serving') resolve(message.url)
      else if (message.what === 'failed') reject(new WorkerStartFailed(message.message))
      else waiting.get(message.id)?.({ answer: message.answer })
    })
    void ended.then((end) => reject(new Error(`a worker exited (${end}) before it was ready`)))
  })
  // Whoever does not wait for it learns of its end.
  serving.catch(() => undefined)
  return {
    isDead: () => worker.isDead(),
    serving,
    ended,
    async requestReport(about, timeoutMs) {
      const id = (requested += 1)
      const responded = await new Promise<{ answer: unknown } | undefined>((resolve) => {
        if (worker.isDead()) return resolve(undefined)
        const timer = setTimeout(resolve, timeoutMs, undefined)
        waiting.set(id, (response) => {
          clearTimeout(timer)
          resolve(response)
        })
        sendToWorker(worker, { what: 'ask', id, about })
      })
      waiting.delete(id)
      return responded as WorkerReport<typeof about> | undefined
    },
    reload: () => sendToWorker(worker, { what: 'reload' }),
    stop() {
      isStopping = true
      sendToWorker(worker, { what: 'stop' })
    },
    kill: () => void worker.process.kill('SIGKILL'),
  }
}

function waitForEnd(worker: Worker): Promise<number | string> {
  return new Promise((resolve) => {
    worker.once('exit', (status, signal) => resolve(signal || status))
    // It could not even be started; what else fails shows in its end.
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (worker.process.pid === undefined) resolve(error.code ?? error.message)
    })
  })
}

/** What cannot be told to a process that is about to end need not be. */
function sendToWorker(worker: Worker, message: MessageToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}
