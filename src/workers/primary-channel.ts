import cluster from 'node:cluster'
import { reloadFiles } from '../lib/fs/reload.ts'
import type { Charge } from '../limits/shared/shared-buckets.ts'
import { stopSignals, ignoreOtherSignals } from '../lib/process/signals.ts'
import type { WorkerReports, StartMessage, MessageFromWorker, MessageToWorker } from './worker-messages.ts'

/** The primary process, seen from a worker. */
export interface PrimaryChannel {
  /** Resolves with what the worker is to do. */
  readonly startMessage: Promise<StartMessage>
  /** Resolves when the worker is to end: it was told so, by a signal too, or nobody is left to tell it. */
  readonly stopped: Promise<undefined>
  /** Resolves when it was taken, or when nobody is left to take it. */
  send(message: MessageFromWorker): Promise<void>
  /** Has charges counted for all workers. Rejects when nobody is left who counts. */
  readonly charge: (charges: readonly Charge[]) => Promise<readonly number[]>
  /** Without it the open channel would keep this process. */
  close(): void
}

interface PendingCharge {
  readonly resolve: (fills: readonly number[]) => void
  readonly reject: (error: Error) => void
}

/**
 * Opens the channel of this worker; what the primary process asks is answered by `answerTo`. When it asks for a reload, this
 * process reads its files again.
 */
export function openPrimaryChannel(
  createReport: (about: keyof WorkerReports) => Promise<WorkerReports[keyof WorkerReports]>,
): PrimaryChannel {
  const started = createDeferred<StartMessage>()
  const stopped = createDeferred<undefined>()
  const awaited = new Map<number, PendingCharge>()
  let lastId = 0

  process.on('message', (message: MessageToWorker) => {
    if (message.what === 'begin') started.resolve(message)
    else if (message.what === 'stop') stopped.resolve(undefined)
    else if (message.what === 'reload') void reloadFiles()
    else if (message.what === 'charged') awaited.get(message.id)?.resolve(message.fills)
    // Whoever asks does not wait for ever.
    else response(message.id, message.about).catch(() => undefined)
  })
  // Ctrl-C in a terminal reaches it as well as the primary process: it must not matter who says it first, or twice.
  ignoreOtherSignals()
  for (const signal of stopSignals) process.on(signal, () => stopped.resolve(undefined))
  cluster.worker?.once('disconnect', () => {
    // Else node would end this process at once, with all that is under way.
    if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
    for (const { reject } of awaited.values()) reject(new Error('the primary process has exited'))
    stopped.resolve(undefined)
  })

  async function response(id: number, about: keyof WorkerReports): Promise<void> {
    await sendToPrimary({ what: 'answer', id, answer: await createReport(about) })
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
          awaited.set(id, { resolve, reject })
          sendToPrimary({ what: 'charge', id, charges: charges.map(({ key, ms }) => ({ key, ms })) }).catch(
            reject,
          )
        })
      } finally {
        awaited.delete(id)
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

/** Promise.withResolvers, which Node 20 does not have. */
function createDeferred<Value>() {
  let resolve: ((value: Value) => void) | undefined
  const promise = new Promise<Value>((settle) => (resolve = settle))
  return { promise, resolve: (value: Value) => resolve?.(value) }
}
