import { combinedStamp, fixed, followFiles, type Followed, type FollowedFiles } from './follow-files.ts'

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

/** Receives the result of each reload. Must not throw. */
export interface ReloadObserver {
  reloaded(setting: string): void
  /** The last value stays in use. */
  failed(setting: string, cause: unknown): void
}

/** Follows the files of all settings of a process. */
export interface FileFollower {
  readonly follow: FollowSetting
  /** Settings whose files could not be read at their last change. */
  listFailing(): readonly string[]
  close(): void
}

export function createFileFollower(observer: ReloadObserver): FileFollower {
  const followed: FollowedFiles<unknown>[] = []
  const failing = new Set<string>()
  return {
    async follow({ setting, files, read, onChange }) {
      if (files.length === 0) return fixed(await read())
      const value = await followFiles({
        stamp: () => combinedStamp(files),
        read,
        onChange(changed) {
          failing.delete(setting)
          onChange?.(changed)
          observer.reloaded(setting)
        },
        onError(cause) {
          failing.add(setting)
          observer.failed(setting, cause)
        },
      })
      followed.push(value)
      return value
    },
    listFailing: () => [...failing].toSorted(),
    close: () => followed.forEach((each) => each.close()),
  }
}

interface ReloadLog {
  info(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Logs each reload. */
export function createReloadLog(log: ReloadLog): ReloadObserver {
  return {
    reloaded: (setting) => log.info({ setting }, 'file reloaded'),
    failed: (setting, cause) =>
      log.error({ setting, error: String(cause) }, 'file not reloaded: the last good value stays in use'),
  }
}

/** Reads the files once, for commands that end soon. */
export const readOnce: FollowSetting = async ({ read }) => fixed(await read())
