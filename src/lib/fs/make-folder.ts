import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { hasErrorCode } from './system-error.ts'

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
