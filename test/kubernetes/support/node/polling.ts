import { setTimeout } from 'node:timers/promises'

export interface Polling {
  /** Resolves when nothing runs any more. */
  close(): Promise<void>
}

const pollMs = 200

/** Runs a function again and again. Prints an error once, such as that of an API server that is down. */
export function startPolling(poll: () => Promise<void>): Polling {
  const closing = new AbortController()
  let lastError: string | undefined
  const run = async () => {
    while (!closing.signal.aborted) {
      const error = await poll().then(() => undefined, String)
      if (error !== undefined && error !== lastError) console.warn(`${poll.name}: ${error}`)
      lastError = error
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
