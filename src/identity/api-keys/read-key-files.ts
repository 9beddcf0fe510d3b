import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiKeyStoreError, parseUsableKeys, type UsableKeys } from './key-store-file.ts'
import type { StoredKey } from './stored-key.ts'
import { runInSlices } from '../../lib/async/run-in-slices.ts'
import { fileStamp } from '../../lib/fs/follow-files.ts'

/**
 * Reads a file, or a folder of files (a mounted Secret). Rejects with ApiKeyStoreError with the errors of all files.
 */
export async function readKeyFiles(path: string): Promise<readonly StoredKey[]> {
  const { keys, problems } = await readUsableKeys(path)
  if (problems.length > 0) throw new ApiKeyStoreError(problems)
  return keys
}

/**
 * Reads the valid entries, and the errors of the others. Rejects with ApiKeyStoreError if a whole file is invalid: it may
 * say that a key is revoked.
 */
export async function readUsableKeys(path: string): Promise<UsableKeys> {
  const files = await listKeyFiles(path)
  if (files.length === 0) throw new ApiKeyStoreError([`${path}: the folder has no .yaml or .yml file`])
  const problems: string[] = []
  const invalidFiles: string[] = []
  const keys: StoredKey[] = []
  const seen = new Map<string, string>()
  const ambiguous = new Set<string>()
  for (const file of files) {
    const parsed = await parseKeys(await readFile(file, 'utf8'), file, invalidFiles)
    problems.push(...parsed.problems)
    for (const key of parsed.keys) {
      const other = seen.get(key.id)
      if (other !== undefined) {
        problems.push(`${file}: duplicate key ${key.id}, also in ${other}`)
        ambiguous.add(key.id)
      }
      seen.set(key.id, file)
      keys.push(key)
    }
  }
  if (invalidFiles.length > 0) throw new ApiKeyStoreError([...problems, ...invalidFiles])
  return { keys: keys.filter(({ id }) => !ambiguous.has(id)), problems }
}

/** Returns a stamp that changes when a file of the store is changed, added or removed. */
export async function computeKeyFilesStamp(path: string): Promise<string> {
  const files = await listKeyFiles(path).catch(() => [])
  const stamps = await Promise.all(files.map(async (file) => `${file} ${await fileStamp(file)}`))
  return stamps.join('\n')
}

async function parseKeys(text: string, file: string, invalidFiles: string[]): Promise<UsableKeys> {
  try {
    return await runInSlices(parseUsableKeys(text, file))
  } catch (error) {
    if (!(error instanceof ApiKeyStoreError)) throw error
    invalidFiles.push(...error.problems)
    return { keys: [], problems: [] }
  }
}

/** Lists the file itself, or the files of a folder except hidden ones, which Kubernetes uses internally. */
async function listKeyFiles(path: string): Promise<readonly string[]> {
  if (!(await stat(path)).isDirectory()) return [path]
  const names = await readdir(path)
  return names
    .filter((name) => /^[^.].*\.ya?ml$/i.test(name))
    .toSorted()
    .map((name) => join(path, name))
}
