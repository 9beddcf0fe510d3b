import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiKeyStoreError, parseKeyStore, type StoredKey } from './key-store-file.ts'
import { fileStamp } from '../../lib/fs/watch-file.ts'

/**
 * Reads a file, or a folder of files (a mounted Secret). Rejects with ApiKeyStoreError with the errors of all files.
 */
export async function readKeyFiles(path: string): Promise<readonly StoredKey[]> {
  const files = await listKeyFiles(path)
  if (files.length === 0) throw new ApiKeyStoreError([`${path}: the folder has no .yaml or .yml file`])
  const problems: string[] = []
  const keys: StoredKey[] = []
  const seen = new Map<string, string>()
  for (const file of files) {
    for (const key of parseKeys(await readFile(file, 'utf8'), file, problems)) {
      const other = seen.get(key.id)
      if (other !== undefined) problems.push(`${file}: duplicate key ${key.id}, also in ${other}`)
      seen.set(key.id, file)
      keys.push(key)
    }
  }
  if (problems.length > 0) throw new ApiKeyStoreError(problems)
  return keys
}

/** Returns a stamp that changes when a file of the store is changed, added or removed. */
export async function computeKeyFilesStamp(path: string): Promise<string> {
  const files = await listKeyFiles(path).catch(() => [])
  const stamps = await Promise.all(files.map(async (file) => `${file} ${await fileStamp(file)}`))
  return stamps.join('\n')
}

function parseKeys(text: string, file: string, problems: string[]): readonly StoredKey[] {
  try {
    return parseKeyStore(text, file).keys
  } catch (error) {
    if (!(error instanceof ApiKeyStoreError)) throw error
    problems.push(...error.problems)
    return []
  }
}

/** Lists the file itself, or the files of a folder except hidden ones, which Kubernetes uses internally. */
async function listKeyFiles(path: string): Promise<readonly string[]> {
  if (!(await stat(path)).isDirectory()) return [path]
  const names = await readdir(path)
  return names
    .filter((name) => /^[^.].*\.ya?ml$/.test(name))
    .toSorted()
    .map((name) => join(path, name))
}
