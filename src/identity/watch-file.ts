import { readFile, stat } from 'node:fs/promises'
import { onReload } from './reload.ts'

/** How a file is watched. */
export interface WatchOptions {
  readonly intervalMs: number
  /** The file changed and could not be read, or `take` threw; what was taken before stays. */
  readonly failed: (cause: unknown) => void
}

/** Something on disk whose changes are followed until it is closed. */
export interface WatchedFile {
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
): Promise<WatchedFile> {
  return watch({ stamp: () => stampOf(path), read: () => readFile(path, 'utf8') }, take, options)
}

/**
 * Likewise for what is read in another way. It looks at the status of files instead of waiting for events: those
 * get lost when a file is replaced by a rename, or when Kubernetes swaps the link above it. `reloadFiles` has it read
 * at once, also without a change.
 */
export async function watch<Content>(
  source: WatchedSource<Content>,
  take: (content: Content) => void,
  options: WatchOptions,
): Promise<WatchedFile> {
  // Taken before the content is read, so that a change in between is seen at the next look.
  let seen = await source.stamp()
  let closed = false
  let timer: NodeJS.Timeout | undefined
  take(await source.read())

  async function look(isForced: boolean): Promise<void> {
    const stamp = await source.stamp()
    if (closed || (stamp === seen && !isForced)) return
    seen = stamp
    try {
      take(await source.read())
    } catch (cause) {
      options.failed(cause)
    }
  }

  // One after the other: what was read first must not be taken last.
  let looked = Promise.resolve()
  function lookInOrder(isForced = false): Promise<void> {
    return (looked = looked.then(() => look(isForced)))
  }

  function lookLater(): void {
    if (closed) return
    timer = setTimeout(() => void lookInOrder().finally(lookLater), options.intervalMs)
    timer.unref()
  }

  lookLater()
  const forget = onReload(() => lookInOrder(true))
  return {
    close() {
      closed = true
      forget()
      clearTimeout(timer)
    },
  }
}

/** Changes with a file's content, name or rights; the same for as long as the file cannot be found. */
export async function stampOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join(':')
  } catch {
    return 'missing'
  }
}
