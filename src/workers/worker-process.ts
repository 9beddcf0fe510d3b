import cluster, { type Worker } from 'node:cluster'
import type { Charge } from '../limits/shared/shared-buckets.ts'
import type { WorkerReports, StartMessage, MessageFromWorker, MessageToWorker } from './worker-messages.ts'

export interface WorkerProcess {
  isDead(): boolean
  /** Resolves with its URL when it accepts requests. Rejects with the error to report if it cannot start. */
  readonly serving: Promise<string>
  /** Resolves with its exit status or the signal that ended it. Never rejects. */
  readonly ended: Promise<number | string>
  /** Resolves with undefined if there is no response within the timeout, or if the worker has ended. */
  requestReport<About extends keyof WorkerReports>(
    about: About,
    timeoutMs: number,
  ): Promise<WorkerReports[About] | undefined>
  /** A worker that has not started yet reads its files anyway. */
  reload(): void
  stop(): void
  kill(): void
}

/** Returns the milliseconds until each bucket is full. */
export type ChargeFunction = (charges: readonly Charge[]) => readonly number[]

export class WorkerStartFailed extends Error {
  override readonly name = 'WorkerStartFailed'
}

/** The process runs the same command as this one. */
export function forkWorker(startMessage: StartMessage, charge: ChargeFunction): WorkerProcess {
  const worker = cluster.fork()
  const pendingReports = new Map<number, (report: Partial<WorkerReports>) => void>()
  let lastId = 0
  let isStopping = false
  const ended = waitForEnd(worker).finally(() => {
    for (const resolveReport of pendingReports.values()) resolveReport({})
  })
  const serving = new Promise<string>((resolve, reject) => {
    worker.on('message', (message: MessageFromWorker) => {
      if (message.type === 'charge') {
        sendToWorker(worker, { type: 'charged', id: message.id, fillTimes: charge(message.charges) })
      } else if (message.type === 'listening')
        sendToWorker(worker, isStopping ? { type: 'stop' } : startMessage)
      else if (message.type === 'serving') resolve(message.url)
      else if (message.type === 'failed') reject(new WorkerStartFailed(message.message))
      else pendingReports.get(message.id)?.(message.report)
    })
    void ended.then((end) => reject(new Error(`a worker exited (${end}) before it was ready`)))
  })
  // Callers that do not await `serving` learn of the failure from `ended`.
  serving.catch(() => undefined)
  return {
    isDead: () => worker.isDead(),
    serving,
    ended,
    async requestReport(about, timeoutMs) {
      const id = (lastId += 1)
      const report = await new Promise<Partial<WorkerReports>>((resolve) => {
        if (worker.isDead()) return resolve({})
        const timer = setTimeout(resolve, timeoutMs, {})
        pendingReports.set(id, (report) => {
          clearTimeout(timer)
          resolve(report)
        })
        sendToWorker(worker, { type: 'requestReport', id, about })
      })
      pendingReports.delete(id)
      return report[about]
    },
    reload: () => sendToWorker(worker, { type: 'reload' }),
    stop() {
      isStopping = true
      sendToWorker(worker, { type: 'stop' })
    },
    kill: () => void worker.process.kill('SIGKILL'),
  }
}

function waitForEnd(worker: Worker): Promise<number | string> {
  return new Promise((resolve) => {
    worker.once('exit', (status, signal) => resolve(signal || status))
    // The fork itself failed; other failures show in its exit.
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (worker.process.pid === undefined) resolve(error.code ?? error.message)
    })
  })
}

/** A message to a process that is ending may be lost. */
function sendToWorker(worker: Worker, message: MessageToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}
