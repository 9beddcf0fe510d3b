import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { assertPepper } from './api-key-format.ts'

/**
 * Reads the secret that the hashes of API keys are made with; white space around it does not count.
 * Throws if it is shorter than 32 bytes.
 */
export async function readPepper(file: string): Promise<Buffer> {
  const pepper = Buffer.from((await readFile(file, 'utf8')).trim())
  assertPepper(pepper)
  return pepper
}

/** Likewise; where there is no such file, makes one with a new secret, readable by its owner alone. */
export async function readOrCreatePepper(file: string): Promise<Buffer> {
  try {
    return await readPepper(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    await writeFile(file, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
    return readPepper(file)
  }
}
