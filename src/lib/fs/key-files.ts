import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { ignoreMissing } from '../errors.ts'
import { writeAtomically } from './write-files.ts'

const minKeyBytes = 32

/** Reads a secret key, without the white space around it. Rejects if it has less than 32 bytes. */
export async function readKey(file: string): Promise<Buffer> {
  const key = Buffer.from((await readFile(file, 'latin1')).trim(), 'latin1')
  if (key.length >= minKeyBytes) return key
  throw new Error(`the key in ${file} has ${key.length} bytes; expected at least ${minKeyBytes}`)
}

/** Reads the key of a file. Without one, reads the `generated` one, which is created if it is missing. */
export async function openKey(file: string | undefined, generated: string): Promise<Buffer> {
  if (file !== undefined) return readKey(file)
  const key = await readKey(generated).catch(ignoreMissing)
  if (key !== undefined) return key
  await writeAtomically(generated, randomBytes(minKeyBytes).toString('base64url'))
  return readKey(generated)
}
