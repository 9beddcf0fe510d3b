import { readFile, realpath, stat, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { withFileLock } from './file-lock.ts'
import { ignoreMissing } from './system-error.ts'
import { replaceAtomically, syncFolder } from './write-atomically.ts'

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
