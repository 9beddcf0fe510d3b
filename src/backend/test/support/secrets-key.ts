import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

/** Writes a key for the values of secrets to a new file. Returns the settings with it. */
export async function secretsKey(key = 'a-key-for-the-values-of-secrets-1') {
  const keyFile = join(await temporaryFolder(), 'key')
  await writeFile(keyFile, `${key}\n`)
  return { secrets: { keyFile } }
}
