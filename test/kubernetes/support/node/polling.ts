import { setTimeout } from 'node:timers/promises'

export interface Polling {
  /** Resolves when nothing runs any more. */
  close(): Promise<void>
}

const pollMs = 200

/** Runs a function again and again. Prints errors, such as those while the API server is down. */
export function startPolling(poll: () => Promise<void>): Polling {
  const closing = new AbortController()
  const run = async () => {
    while (!closing.signal.aborted) {
      await poll().catch((error: unknown) => console.warn(`${poll.name}: ${String(error)}`))
      await setTimeout(pollMs, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  }
  const done = run()
  return {
    async close() {
      closing.abort()
      await done
    },
  }
}
