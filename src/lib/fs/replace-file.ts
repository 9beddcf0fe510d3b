import { open, readFile, realpath, rename, rm, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { syncFolder } from './sync-folder.ts'

const maxAttempts = 100
const retryDelayMs = 50

/**
 * Replaces the text of a file by the result of `change` (undefined: no file exists). Readers see the old text or the
 * new one, never a part, even after a crash; only its owner can read the file (0600). The new text is written to
 * `<file>.new`, which also serves as a lock; throws if it exists for five seconds.
 */
export async function replaceFile(path: string, change: (text: string | undefined) => string): Promise<void> {
  const target = (await undefinedIfMissing(realpath(path))) ?? path
  const temporary = `${target}.new`
  const handle = await createFile(temporary)
  try {
    await handle.writeFile(change(await undefinedIfMissing(readFile(target, 'utf8'))))
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
      if (errorCode(error) !== 'EEXIST') throw error
      if (attempt === maxAttempts) {
        throw new Error(`${path} exists: another command is writing. If no command is running, remove it.`, {
          cause: error,
        })
      }
      await wait(retryDelayMs)
    }
  }
}

async function undefinedIfMissing<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function errorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
