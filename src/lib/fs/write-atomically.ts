import { randomBytes } from 'node:crypto'
import { open, rename, rm, type FileHandle } from 'node:fs/promises'

/**
 * Writes a file that readers see completely or not at all, even after a crash; only its owner can read it (0600). The
 * last of several concurrent writers wins.
 */
export function writeAtomically(path: string, text: string): Promise<void> {
  return replaceAtomically(path, 0o600, (handle) => handle.writeFile(text))
}

/** Gives the name `path` to a new file once `fill` has filled it; if that fails, nothing changes. */
export async function replaceAtomically(
  path: string,
  mode: number,
  fill: (handle: FileHandle) => Promise<void>,
): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  const handle = await open(temporary, 'wx', mode)
  try {
    await fill(handle)
    await handle.sync()
    await handle.close()
    await rename(temporary, path)
  } catch (error) {
    await handle.close().catch(() => undefined)
    await rm(temporary, { force: true })
    throw error
  }
}

/** Makes the creation, renaming and removal of files in a folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
