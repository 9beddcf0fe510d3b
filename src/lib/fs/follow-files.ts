import { stat } from 'node:fs/promises'
import { isSystemError } from './system-error.ts'
import { pollFiles } from './poll-files.ts'

/** A value that may be replaced while the program runs. */
export interface Followed<Value> {
  /** The last value that could be read. */
  readonly current: Value
  /**
   * Reads the value now if it has changed, for a value that a server has refused. At most once a second; further calls
   * return the same promise. Never rejects.
   */
  refresh(): Promise<void>
}

/** A value read from files that are polled until closed. */
export interface FollowedFiles<Value> extends Followed<Value> {
  close(): void
}

export interface FollowOptions<Value> {
  /** Changes with every change of the files; must not reject. */
  readonly stamp: () => Promise<string>
  /** Rejects if the content is unusable, as that of an empty or incomplete file. */
  readonly read: () => Promise<Value>
  readonly intervalMs?: number
  /**
   * Called after each change with the value before, but not for the first value, and with an unchanged value after
   * `reloadFiles`.
   */
  readonly onChange: (value: Value, before: Value) => void
  /** The files cannot be read, and the last value remains. Called once per change, and after `reloadFiles`. */
  readonly onError: (cause: unknown) => void
}

/** Between two polls: a change takes effect within a second. */
const defaultIntervalMs = 500
const minRefreshIntervalMs = 1_000

/** A value that never changes. */
export function fixed<Value>(value: Value): Followed<Value> {
  return { current: value, refresh: () => Promise.resolve() }
}

/**
 * Reads a value from files, now and after each change. Polls instead of using events, which get lost when a file is
 * replaced or Kubernetes swaps the link above it. Rejects if the first read fails.
 */
export async function followFiles<Value>(options: FollowOptions<Value>): Promise<FollowedFiles<Value>> {
  const { stamp: computeStamp, read, intervalMs = defaultIntervalMs, onChange, onError } = options
  // Taken before the content is read, so that the next poll detects a change in between.
  let lastStamp = await computeStamp()
  let current = await read()
  let isUnread = false

  async function poll(isForced: boolean): Promise<void> {
    const stamp = await computeStamp()
    const isChanged = stamp !== lastStamp
    if (polling.isClosed || !(isChanged || isForced || isUnread)) return
    const isReported = isChanged || isForced
    const before = current
    lastStamp = stamp
    try {
      const value = await read()
      // Of several files, some may have been replaced during the read. The next poll reads all of them again.
      if ((await computeStamp()) !== stamp || polling.isClosed) return
      current = value
      isUnread = false
    } catch (cause) {
      // The reason may go away without a change of the files: the next poll tries again.
      isUnread = isSystemError(cause)
      if (isReported && !polling.isClosed) onError(cause)
      return
    }
    onChange(current, before)
  }

  const polling = pollFiles(poll, intervalMs)
  let refreshedAt = -Infinity
  let refreshing = Promise.resolve()
  return {
    get current() {
      return current
    },
    refresh() {
      const now = performance.now()
      if (now - refreshedAt < minRefreshIntervalMs) return refreshing
      refreshedAt = now
      return (refreshing = polling.pollNow())
    },
    close: () => polling.close(),
  }
}

/** Changes with the content, name or permissions of a file; constant while the file is missing. */
export async function fileStamp(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join(':')
  } catch {
    return 'missing'
  }
}

/** Changes with each of the files. */
export async function combinedStamp(paths: readonly string[]): Promise<string> {
  return (await Promise.all(paths.map(fileStamp))).join(' ')
}
