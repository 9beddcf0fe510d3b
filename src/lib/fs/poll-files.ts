import { onReload } from './reload.ts'

export interface FilePolling {
  /** Whether a poll in progress must have no effect any more. */
  readonly isClosed: boolean
  /** Polls without waiting for the end of the interval. Resolves when the poll has ended. */
  pollNow(): Promise<void>
  close(): void
}

/**
 * Calls `poll` after each interval, and with `isForced` for each `reloadFiles`, until closed. Polls run one after the
 * other, so that an older read cannot replace a newer one. `poll` must not reject.
 */
export function pollFiles(poll: (isForced: boolean) => Promise<void>, intervalMs: number): FilePolling {
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  let lastPoll = Promise.resolve()
  function pollInOrder(isForced = false): Promise<void> {
    return (lastPoll = lastPoll.then(() => poll(isForced)))
  }

  function pollLater(): void {
    if (isClosed) return
    timer = setTimeout(() => void pollInOrder().finally(pollLater), intervalMs)
    timer.unref()
  }

  pollLater()
  const unsubscribe = onReload(() => pollInOrder(true))
  return {
    get isClosed() {
      return isClosed
    },
    pollNow: () => pollInOrder(),
    close() {
      isClosed = true
      unsubscribe()
      clearTimeout(timer)
    },
  }
}
