import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { hasErrorCode, ignoreMissing } from '../../lib/index.ts'
import { assertPepper, identifyPepper } from './api-key-format.ts'
import { listKeys, type StoredKey } from './key-store-file.ts'

const maxNamed = 5

/** Reads the pepper of the API key hashes; ignores surrounding white space. Rejects if it is shorter than 32 bytes. */
export async function readPepper(file: string): Promise<Buffer> {
  const pepper = Buffer.from((await readFile(file, 'utf8')).trim())
  assertPepper(pepper)
  return pepper
}

/** Throws if no key has this pepper, and one that is neither revoked nor expired has another one. */
export function assertPepperOfKeys(pepper: Uint8Array, keys: readonly StoredKey[]): void {
  const own = identifyPepper(pepper)
  const problem = describeUnusableKeys(pepper, keys)
  if (problem !== undefined && !keys.some(({ pepper: named = own }) => named === own))
    throw new Error(problem)
}

/** Describes the keys that nobody can use, although they are neither revoked nor expired: they have another pepper. */
export function describeUnusableKeys(pepper: Uint8Array, keys: readonly StoredKey[]): string | undefined {
  const own = identifyPepper(pepper)
  const unusable = keys.filter(
    ({ pepper: named = own, revokedAt, expiresAt }) =>
      named !== own &&
      revokedAt === undefined &&
      (expiresAt === undefined || Date.parse(expiresAt) > Date.now()),
  )
  if (unusable.length === 0) return undefined
  const ids = unusable.slice(0, maxNamed).map(({ id }) => id)
  if (unusable.length > maxNamed) ids.push(`${unusable.length - maxNamed} more`)
  return `the pepper is not the one of the keys ${ids.join(', ')}, which nobody can use; expected the file of their pepper, or new keys`
}

/**
 * Reads the pepper; if the file is missing and the store has no key, creates it with a new secret, readable by its owner
 * only. With a key in the store, a missing file is an error: its path may be misspelt.
 */
export async function readOrCreatePepper(file: string, store: string): Promise<Buffer> {
  try {
    return await readPepper(file)
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT')) throw error
    const keys = (await listKeys(store).catch(ignoreMissing)) ?? []
    if (keys.length > 0)
      throw new Error(`there is no file ${file}, and the keys in ${store} have a pepper; name its file`, {
        cause: error,
      })
    await writeFile(file, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
    return readPepper(file)
  }
}
