import { readFile, stat } from 'node:fs/promises'
import { onReload } from './reload.ts'

/** How a file is watched. */
export interface WatchOptions {
  readonly intervalMs: number
  /** The file changed and could not be read, or `take` threw; what was taken before stays. */
  readonly onError: (cause: unknown) => void
}

/** Something on disk whose changes are followed until it is closed. */
export interface FileWatcher {
  close(): void
}

/** Something on disk that is watched. */
export interface WatchedSource<Content> {
  /** Changes with every change of the content; must not throw. */
  readonly stamp: () => Promise<string>
  readonly read: () => Promise<Content>
}

/** Hands the text of a file to `take`, now and after each change; throws if that fails the first time. */
export function watchFile(
  path: string,
  take: (text: string) => void,
  options: WatchOptions,
): Promise<FileWatcher> {
  return watchSource({ stamp: () => fileStamp(path), read: () => readFile(path, 'utf8') }, take, options)
}

/**
 * Likewise for what is read in another way. It looks at the status of files instead of waiting for events: those
 * get lost when a file is replaced by a rename, or when Kubernetes swaps the link above it. `reloadFiles` has it read
 * at once, also without a change.
 */
export async function watchSource<Content>(
  source: WatchedSource<Content>,
  take: (content: Content) => void,
  options: WatchOptions,
): Promise<FileWatcher> {
  // Taken before the content is read, so that a change in between is seen at the next look.
  let seen = await source.stamp()
  let closed = false
  let timer: NodeJS.Timeout | undefined
  take(await source.read())

  async function poll(isForced: boolean): Promise<void> {
    const stamp = await source.stamp()
    if (closed || (stamp === seen && !isForced)) return
    seen = stamp
    try {
      take(await source.read())
    } catch (cause) {
      options.onError(cause)
    }
  }

  // One after the other: what was read first must not be taken last.
  let polled = Promise.resolve()
  function pollInOrder(isForced = false): Promise<void> {
    return (polled = polled.then(() => poll(isForced)))
  }

  function pollLater(): void {
    if (closed) return
    timer = setTimeout(() => void pollInOrder().finally(pollLater), options.intervalMs)
    timer.unref()
  }

  pollLater()
  const forget = onReload(() => pollInOrder(true))
  return {
    close() {
      closed = true
      forget()
      clearTimeout(timer)
    },
  }
}

/** Changes with a file's content, name or rights; the same for as long as the file cannot be found. */
export async function fileStamp(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join(':')
  } catch {
    return 'missing'
  }
}
