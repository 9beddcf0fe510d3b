import { randomBytes } from 'node:crypto'
import { existsSync, write } from 'node:fs'
import { type FileHandle, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { ignoreMissing } from '../errors.ts'
import { withFileLock } from './file-lock.ts'

/**
 * Creates a folder and its missing parents. Resolves to the first created folder, or undefined. `mkdir` with
 * `recursive` retries forever if a parent refuses a folder with ENOENT, as `/proc` does.
 */
export async function makeFolder(folder: string, mode = 0o777): Promise<string | undefined> {
  const path = resolve(folder)
  const parent = dirname(path)
  const first = existsSync(parent) ? undefined : await makeFolder(parent, mode)
  try {
    await mkdir(path, { mode })
    return first ?? path
  } catch (error) {
    // It was there, or another process has created it meanwhile.
    const found = await stat(path).catch(() => undefined)
    if (found?.isDirectory() === true) return first
    throw error
  }
}

/**
 * Writes a file that readers see completely or not at all, even after a crash; only its owner can read it (0600). The
 * last of several concurrent writers wins.
 */
export function writeAtomically(path: string, text: string): Promise<void> {
  return replaceAtomically(path, 0o600, (handle) => handle.writeFile(text))
}

/** Gives the name `path` to a new file once `fill` has filled it; if that fails, nothing changes. */
async function replaceAtomically(
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

/**
 * Replaces the text of a file by the result of `change` (undefined: no file exists). Readers see the old text or the
 * new one, never a part, even after a crash. The file keeps its owner, group and mode; throws if this process may not set
 * them. A file that did not exist gets `newMode`, less the umask. `<file>.lock` serializes the changes of all processes;
 * throws if another one holds it for five seconds, and if the path is no regular file.
 */
export async function replaceFile(
  path: string,
  change: (text: string | undefined) => string | Promise<string>,
  newMode = 0o600,
): Promise<void> {
  const target = (await realpath(path).catch(ignoreMissing)) ?? path
  await withFileLock(`${target}.lock`, async () => {
    await replaceAtomically(target, newMode, async (handle) => {
      await copyAccess(target, handle)
      await handle.writeFile(await change(await readFile(target, 'utf8').catch(ignoreMissing)))
    })
    await syncFolder(dirname(target))
  })
}

/** Otherwise the gateway could no longer read what another user has changed, and would keep the old text in force. */
async function copyAccess(path: string, handle: FileHandle): Promise<void> {
  const old = await stat(path).catch(ignoreMissing)
  if (old === undefined) return
  // A device, such as /dev/null, must not become a file.
  if (!old.isFile()) throw new Error(`${path} is not a regular file`)
  const { uid, gid, mode } = await handle.stat()
  if (old.uid !== uid || old.gid !== gid) {
    await handle.chown(old.uid, old.gid).catch((cause: unknown) => {
      const owner = `user ${old.uid} and group ${old.gid}`
      throw new Error(
        `${path} belongs to ${owner}, which the new file cannot get: run as its owner or as root`,
        { cause },
      )
    })
  }
  if (old.mode !== mode) await handle.chmod(old.mode)
}

/** Before a descriptor that takes nothing now, such as a full pipe, is tried again. */
const retryMs = 10

/**
 * Appends all bytes: a disk that fills up accepts part of a write before it fails. Rejects with the system error; that of a
 * descriptor whose reader takes nothing only when it `isLate`. Uses callbacks, since the promises of `FileHandle` cost twice
 * as much, and Node streams block the process while a pipe is full.
 */
export function writeAll(descriptor: number, bytes: Buffer, isLate = () => false): Promise<void> {
  return new Promise((resolve, reject) => {
    const writeFrom = (begin: number): void => {
      write(descriptor, bytes, begin, bytes.length - begin, null, (error, written) => {
        if (error?.code === 'EAGAIN' && !isLate()) setTimeout(writeFrom, retryMs, begin)
        else if (error !== null) reject(error)
        else if (begin + written < bytes.length) writeFrom(begin + written)
        else resolve()
      })
    }
    writeFrom(0)
  })
}
