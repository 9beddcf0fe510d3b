import cluster, { type Worker } from 'node:cluster'
import type { Charge } from '../limits/shared/shared-buckets.ts'
import type { Answers, Beginning, FromWorker, ToWorker } from './messages.ts'

/** A worker, seen from the primary process. */
export interface WorkerProcess {
  isDead(): boolean
  /** Resolves with its URL when it takes requests. Rejects when it could not begin, with what is to be told of it. */
  readonly serving: Promise<string>
  /** Resolves with its exit status, or with the signal that ended it. Never rejects. */
  readonly ended: Promise<number | string>
  /** Undefined where there is no answer in so many milliseconds, or none to come any more. */
  ask<About extends keyof Answers>(about: About, patienceMs: number): Promise<Answered<About> | undefined>
  /** Has it read its files again; one that has not begun is about to read them. */
  reload(): void
  /** Tells it to finish what it is at, and to end. */
  stop(): void
  kill(): void
}

/** An answer, in an object because it may be undefined. */
interface Answered<About extends keyof Answers> {
  readonly answer: Answers[About]
}

/** Counts what callers took of limits, for all workers, and answers how full the buckets are. */
export type Charged = (charges: readonly Charge[]) => readonly number[]

/** A worker says why it cannot begin, in words for the user. */
export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed'
}

/** Starts a process that runs the same command as this one, and has it begin. */
export function forkWorker(beginning: Beginning, charge: Charged): WorkerProcess {
  const worker = cluster.fork()
  const waiting = new Map<number, (answered: { answer: unknown } | undefined) => void>()
  let asked = 0
  let isStopping = false
  const ended = endOf(worker).finally(() => {
    for (const answer of waiting.values()) answer(undefined)
  })
  const serving = new Promise<string>((resolve, reject) => {
    worker.on('message', (message: FromWorker) => {
      if (message.what === 'charge') {
        tell(worker, { what: 'charged', id: message.id, fills: charge(message.charges) })
      } else if (message.what === 'there') tell(worker, isStopping ? { what: 'stop' } : beginning)
      else if (message.what === 'serving') resolve(message.url)
      else if (message.what === 'failed') reject(new WorkerFailed(message.message))
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
    async ask(about, patienceMs) {
      const id = (asked += 1)
      const answered = await new Promise<{ answer: unknown } | undefined>((resolve) => {
        if (worker.isDead()) return resolve(undefined)
        const timer = setTimeout(resolve, patienceMs, undefined)
        waiting.set(id, (answer) => {
          clearTimeout(timer)
          resolve(answer)
        })
        tell(worker, { what: 'ask', id, about })
      })
      waiting.delete(id)
      return answered as Answered<typeof about> | undefined
    },
    reload: () => tell(worker, { what: 'reload' }),
    stop() {
      isStopping = true
      tell(worker, { what: 'stop' })
    },
    kill: () => void worker.process.kill('SIGKILL'),
  }
}

function endOf(worker: Worker): Promise<number | string> {
  return new Promise((resolve) => {
    worker.once('exit', (status, signal) => resolve(signal || status))
    // It could not even be started; what else fails shows in its end.
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (worker.process.pid === undefined) resolve(error.code ?? error.message)
    })
  })
}

/** What cannot be told to a process that is about to end need not be. */
function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}
