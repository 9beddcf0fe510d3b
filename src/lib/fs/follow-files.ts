import { stat } from 'node:fs/promises'
import { toError } from '../errors.ts'

/** Those of all watched files of this process. */
const reloads = new Set<() => Promise<void>>()

/**
 * Reads all watched files of this process again, even unchanged ones, and reports each as changed. Resolves when all
 * have been read.
 */
export async function reloadFiles(): Promise<void> {
  await Promise.all([...reloads].map((reload) => reload()))
}

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
export type FollowedFiles<Value> = Awaited<ReturnType<typeof followFiles<Value>>>

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
  readonly onChange?: (value: Value, before: Value) => void
  /**
   * The files cannot be read, and the last value remains. Called again for another change or another reason, and after
   * `reloadFiles`.
   */
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
export async function followFiles<Value>(options: FollowOptions<Value>) {
  const { stamp: computeStamp, read, intervalMs = defaultIntervalMs, onChange, onError } = options
  // Taken before the content is read, so that the next poll detects a change in between.
  let lastStamp = await computeStamp()
  let current = await read()
  let lastError: string | undefined
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  async function poll(isForced: boolean): Promise<void> {
    const stamp = await computeStamp()
    const isChanged = stamp !== lastStamp
    // The reason of an error may go away without a change of the files.
    if (isClosed || !(isChanged || isForced || lastError !== undefined)) return
    const before = current
    lastStamp = stamp
    try {
      const value = await read()
      // Of several files, some may have been replaced during the read. The next poll reads all of them again.
      if ((await computeStamp()) !== stamp || isClosed) return
      current = value
      lastError = undefined
    } catch (cause) {
      const isReported = isChanged || isForced || String(cause) !== lastError
      lastError = String(cause)
      if (isReported && !isClosed) onError(cause)
      return
    }
    onChange?.(current, before)
  }

  // One after the other, so that an older read cannot replace a newer one.
  let lastPoll = Promise.resolve()
  function pollInOrder(isForced: boolean): Promise<void> {
    return (lastPoll = lastPoll.then(() => poll(isForced)))
  }

  function pollLater(): void {
    if (isClosed) return
    timer = setTimeout(() => void pollInOrder(false).finally(pollLater), intervalMs)
    timer.unref()
  }

  pollLater()
  const reload = (): Promise<void> => pollInOrder(true)
  reloads.add(reload)
  let refreshedAt = -Infinity
  let refreshing = Promise.resolve()
  return {
    get current() {
      return current
    },
    /** See `Followed`. */
    refresh(): Promise<void> {
      const now = performance.now()
      if (now - refreshedAt < minRefreshIntervalMs) return refreshing
      refreshedAt = now
      return (refreshing = pollInOrder(false))
    },
    /** Polls without waiting for the end of the interval. Resolves when the poll has ended. */
    pollNow: () => pollInOrder(false),
    close(): void {
      isClosed = true
      reloads.delete(reload)
      clearTimeout(timer)
    },
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

/** The files of one setting, and the value that they hold together. */
interface SettingFiles<Value> {
  /** For reports, with the name of its entry in a list: `upstreams.catalog.credential`. */
  readonly setting: string
  readonly files: readonly string[]
  /** Rejects if the content is unusable, as that of an empty or incomplete file. */
  readonly read: () => Promise<Value>
  /** Called after each change; must not throw. */
  readonly onChange?: (value: Value) => void
}

/** Reads the files of a setting, and follows their changes. Rejects if the first read fails. */
export type FollowSetting = <Value>(files: SettingFiles<Value>) => Promise<Followed<Value>>

interface ReloadLog {
  info(fields: object, message: string): void
  error(fields: { readonly setting: string; readonly error: string }, message: string): void
}

/** Follows the files of all settings of a process. */
export type FileFollower = ReturnType<typeof createFileFollower>

/** Logs and counts each reload; if it fails, the last value stays in use. `count` must not throw. */
export function createFileFollower(
  log: ReloadLog,
  count: (setting: string, result: 'success' | 'failure') => void = () => undefined,
) {
  const followed: FollowedFiles<unknown>[] = []
  const failing = new Set<string>()
  const follow: FollowSetting = async ({ setting, files, read, onChange }) => {
    if (files.length === 0) return fixed(await read())
    const value = await followFiles({
      stamp: async () => (await Promise.all(files.map(fileStamp))).join(' '),
      read,
      onChange(changed) {
        failing.delete(setting)
        onChange?.(changed)
        count(setting, 'success')
        log.info({ setting }, 'file reloaded')
      },
      onError(cause) {
        failing.add(setting)
        count(setting, 'failure')
        const error = String(toError(cause))
        log.error({ setting, error }, 'file not reloaded: the last good value stays in use')
      },
    })
    followed.push(value)
    return value
  }
  return {
    follow,
    /** Settings whose files could not be read at their last change. */
    listFailing: () => [...failing].toSorted(),
    close: () => followed.forEach((each) => each.close()),
  }
}

/** Reads the files once, for commands that end soon. */
export const readOnce: FollowSetting = async ({ read }) => fixed(await read())
