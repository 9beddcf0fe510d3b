import cluster from 'node:cluster'
import { reloadFiles } from '../lib/fs/reload.ts'
import type { Charge } from '../limits/shared/shared-buckets.ts'
import { stopSignals, ignoreOtherSignals } from '../lib/process/signals.ts'
import type { WorkerReports, StartMessage, MessageFromWorker, MessageToWorker } from './worker-messages.ts'

export interface PrimaryChannel {
  readonly startMessage: Promise<StartMessage>
  /** Resolves when the worker is to stop: on request, on a signal, or if the primary process is gone. */
  readonly stopped: Promise<undefined>
  /** Resolves when the message was sent, or if the primary process is gone. */
  send(message: MessageFromWorker): Promise<void>
  /** Counts charges across all workers. Rejects if the primary process is gone. */
  readonly charge: (charges: readonly Charge[]) => Promise<readonly number[]>
  /** An open channel keeps this process alive. */
  close(): void
}

interface PendingCharge {
  readonly resolve: (fillTimes: readonly number[]) => void
  readonly reject: (error: Error) => void
}

/** `createReport` creates requested reports. A reload request makes this process read its files again. */
export function openPrimaryChannel(
  createReport: (about: keyof WorkerReports) => Promise<Partial<WorkerReports>>,
): PrimaryChannel {
  const started = createDeferred<StartMessage>()
  const stopped = createDeferred<undefined>()
  const pendingCharges = new Map<number, PendingCharge>()
  let lastId = 0

  process.on('message', (message: MessageToWorker) => {
    if (message.type === 'start') started.resolve(message)
    else if (message.type === 'stop') stopped.resolve(undefined)
    else if (message.type === 'reload') void reloadFiles()
    else if (message.type === 'charged') pendingCharges.get(message.id)?.resolve(message.fillTimes)
    // The primary process has a timeout for its requests.
    else sendReport(message.id, message.about).catch(() => undefined)
  })
  // Ctrl-C in a terminal reaches the worker as well as the primary process, so stop requests may repeat in any order.
  ignoreOtherSignals()
  for (const signal of stopSignals) process.on(signal, () => stopped.resolve(undefined))
  cluster.worker?.once('disconnect', () => {
    // Otherwise Node ends this process on disconnect, with all requests in flight.
    if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
    for (const { reject } of pendingCharges.values()) reject(new Error('the primary process has exited'))
    stopped.resolve(undefined)
  })

  async function sendReport(id: number, about: keyof WorkerReports): Promise<void> {
    await sendToPrimary({ type: 'report', id, report: await createReport(about) })
  }

  return {
    startMessage: started.promise,
    stopped: stopped.promise,
    send: sendToPrimary,
    async charge(charges) {
      const id = (lastId += 1)
      try {
        return await new Promise<readonly number[]>((resolve, reject) => {
          if (!process.connected) throw new Error('the primary process has exited')
          pendingCharges.set(id, { resolve, reject })
          sendToPrimary({ type: 'charge', id, charges: charges.map(({ key, ms }) => ({ key, ms })) }).catch(
            reject,
          )
        })
      } finally {
        pendingCharges.delete(id)
      }
    },
    close() {
      if (process.connected) process.disconnect()
    },
  }
}

async function sendToPrimary(message: MessageFromWorker): Promise<void> {
  if (!process.connected) return
  await new Promise<void>((resolve) => process.send?.(message, undefined, undefined, () => resolve()))
}

/** Replaces Promise.withResolvers, which Node 20 lacks. */
function createDeferred<Value>() {
  let resolve: ((value: Value) => void) | undefined
  const promise = new Promise<Value>((resolvePromise) => (resolve = resolvePromise))
  return { promise, resolve: (value: Value) => resolve?.(value) }
}
