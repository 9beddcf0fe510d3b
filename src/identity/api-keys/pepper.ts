import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { hasErrorCode } from '../../lib/fs/system-error.ts'
import { assertPepper } from './api-key-format.ts'

/** Reads the pepper of the API key hashes; ignores surrounding white space. Rejects if it is shorter than 32 bytes. */
export async function readPepper(file: string): Promise<Buffer> {
  const pepper = Buffer.from((await readFile(file, 'utf8')).trim())
  assertPepper(pepper)
  return pepper
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
