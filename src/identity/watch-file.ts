import { readFile, stat } from 'node:fs/promises'

/** How a file is watched. */
export interface WatchOptions {
  readonly intervalMs: number
  /** The file changed and could not be read, or `take` threw; what was taken before stays. */
  readonly failed: (cause: unknown) => void
}

/** A file whose changes are followed until it is closed. */
export interface WatchedFile {
  close(): void
}

/**
 * Hands the text of a file to `take`, now and after each change; throws if that fails the first time.
 * It looks at the file's status instead of waiting for events: those get lost when a file is replaced by a
 * rename, or when Kubernetes swaps the link above it.
 */
export async function watchFile(
  path: string,
  take: (text: string) => void,
  options: WatchOptions,
): Promise<WatchedFile> {
  // Taken before the text is read, so that a change in between is seen at the next look.
  let seen = await stampOf(path)
  let closed = false
  let timer: NodeJS.Timeout | undefined
  take(await readFile(path, 'utf8'))

  async function look(): Promise<void> {
    const stamp = await stampOf(path)
    if (closed || stamp === seen) return
    seen = stamp
    try {
      take(await readFile(path, 'utf8'))
    } catch (cause) {
      options.failed(cause)
    }
  }

  function lookLater(): void {
    if (closed) return
    timer = setTimeout(() => void look().finally(lookLater), options.intervalMs)
    timer.unref()
  }

  lookLater()
  return {
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}

/** Changes with the file's content, name or rights; the same for as long as the file cannot be found. */
async function stampOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join(':')
  } catch {
    return 'missing'
  }
}
