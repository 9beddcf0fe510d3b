import { randomBytes } from 'node:crypto'
import { write } from 'node:fs'
import { type FileHandle, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { hasErrorCode, ignoreMissing } from '../errors.ts'
import { withFileLock } from './file-lock.ts'

/**
 * Creates a folder and its missing parents. Resolves to the first created folder, or undefined. `mkdir` with
 * `recursive` retries forever if a parent refuses a folder with ENOENT, as `/proc` does.
 */
export async function makeFolder(folder: string, mode = 0o777): Promise<string | undefined> {
  const path = resolve(folder)
  const result = await tryMkdir(path, mode)
  if (result === 'created') return path
  if (result === 'exists') return undefined
  const first = await makeFolder(dirname(path), mode)
  await mkdir(path, { mode }).catch((error: unknown) => {
    // Another process created it first.
    if (hasErrorCode(error, 'EEXIST')) return
    throw hasErrorCode(error, 'ENOENT')
      ? new Error(`${path}: the parent folder cannot contain folders`)
      : error
  })
  return first ?? path
}

async function tryMkdir(path: string, mode: number): Promise<'created' | 'exists' | 'parent missing'> {
  try {
    await mkdir(path, { mode })
    return 'created'
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT') && dirname(path) !== path) return 'parent missing'
    if (
      await stat(path).then(
        (found) => found.isDirectory(),
        () => false,
      )
    )
      return 'exists'
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
 * throws if another one holds it for five seconds, and for what is not a regular file.
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

/**
 * Writes all bytes from that position, or appends (null): a disk that fills up accepts part of a write before it fails.
 * Uses callbacks, since the promises of `FileHandle` cost twice as much.
 */
export function writeAll(file: number, bytes: Buffer, position: number | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const writeFrom = (written: number): void => {
      const at = position === null ? null : position + written
      write(file, bytes, written, bytes.length - written, at, (error, more) => {
        if (error) reject(error)
        else if (written + more < bytes.length) writeFrom(written + more)
        else resolve()
      })
    }
    writeFrom(0)
  })
}
