import { readFile, stat } from 'node:fs/promises'
import { pollFiles } from './poll-files.ts'

export interface WatchOptions {
  readonly intervalMs: number
  /** The file changed and could not be read, or `take` threw; the previous content remains in use. */
  readonly onError: (cause: unknown) => void
}

export interface FileWatcher {
  close(): void
}

export interface WatchedSource<Content> {
  /** Changes with every change of the content; must not throw. */
  readonly stamp: () => Promise<string>
  readonly read: () => Promise<Content>
}

/** Passes the text of a file to `take`, now and after each change. Rejects if the first time fails. */
export function watchFile(
  path: string,
  take: (text: string) => void,
  options: WatchOptions,
): Promise<FileWatcher> {
  return watchSource({ stamp: () => fileStamp(path), read: () => readFile(path, 'utf8') }, take, options)
}

/**
 * Polls instead of using events, which get lost when a file is replaced or Kubernetes swaps the link above it.
 * `reloadFiles` triggers a read at once.
 */
export async function watchSource<Content>(
  source: WatchedSource<Content>,
  take: (content: Content) => void,
  options: WatchOptions,
): Promise<FileWatcher> {
  // Taken before the content is read, so that the next poll detects a change in between.
  let lastStamp = await source.stamp()
  take(await source.read())

  async function poll(isForced: boolean): Promise<void> {
    const stamp = await source.stamp()
    if (polling.isClosed || (stamp === lastStamp && !isForced)) return
    lastStamp = stamp
    try {
      const content = await source.read()
      // Of several files, some may have been replaced during the read. The next poll reads all of them again.
      if ((await source.stamp()) === stamp) take(content)
    } catch (cause) {
      options.onError(cause)
    }
  }

  const polling = pollFiles(poll, options.intervalMs)
  return polling
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
