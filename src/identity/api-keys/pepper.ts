import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { hasErrorCode } from '../../lib/fs/system-error.ts'
import { assertPepper, identifyPepper } from './api-key-format.ts'
import type { StoredKey } from './stored-key.ts'

/** Reads the pepper of the API key hashes; ignores surrounding white space. Rejects if it is shorter than 32 bytes. */
export async function readPepper(file: string): Promise<Buffer> {
  const pepper = Buffer.from((await readFile(file, 'utf8')).trim())
  assertPepper(pepper)
  return pepper
}

/** Throws if every key names another pepper, and one of them is neither revoked nor expired. */
export function assertPepperOfKeys(pepper: Uint8Array, keys: readonly StoredKey[]): void {
  const own = identifyPepper(pepper)
  if (keys.some(({ pepper: named = own }) => named === own)) return
  const hasLive = keys.some(
    ({ revokedAt, expiresAt }) =>
      revokedAt === undefined && (expiresAt === undefined || Date.parse(expiresAt) > Date.now()),
  )
  if (hasLive)
    throw new Error(
      'the pepper is not the one that the API keys were created with; every key would be invalid',
    )
}

/** Reads the pepper; if the file is missing, creates it with a new secret, readable by its owner only. */
export async function readOrCreatePepper(file: string): Promise<Buffer> {
  try {
    return await readPepper(file)
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT')) throw error
    await writeFile(file, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
    return readPepper(file)
  }
}
