import { open, readFile, realpath, rename, rm, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { hasErrorCode, ignoreMissing } from './system-error.ts'
import { syncFolder } from './sync-folder.ts'

const maxAttempts = 100
const retryDelayMs = 50

/**
 * Replaces the text of a file by the result of `change` (undefined: no file exists). Readers see the old text or the
 * new one, never a part, even after a crash; only its owner can read the file (0600). The new text is written to
 * `<file>.new`, which also serves as a lock; throws if it exists for five seconds.
 */
export async function replaceFile(path: string, change: (text: string | undefined) => string): Promise<void> {
  const target = (await realpath(path).catch(ignoreMissing)) ?? path
  const temporary = `${target}.new`
  const handle = await createFile(temporary)
  try {
    await handle.writeFile(change(await readFile(target, 'utf8').catch(ignoreMissing)))
    await handle.sync()
    await handle.close()
    await rename(temporary, target)
  } catch (error) {
    await handle.close().catch(() => undefined)
    await rm(temporary, { force: true })
    throw error
  }
  await syncFolder(dirname(target))
}

async function createFile(path: string): Promise<FileHandle> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await open(path, 'wx', 0o600)
    } catch (error) {
      if (!hasErrorCode(error, 'EEXIST')) throw error
      if (attempt === maxAttempts) {
        throw new Error(`${path} exists: another command is writing. If no command is running, remove it.`, {
          cause: error,
        })
      }
      await wait(retryDelayMs)
    }
  }
}
