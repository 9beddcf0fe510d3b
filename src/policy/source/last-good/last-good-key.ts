import { readFile, realpath } from 'node:fs/promises'
import type { LastGoodSettings } from '../../../config/policy-settings.ts'
import { isWithin } from '../../../lib/fs/is-within.ts'
import { ignoreMissing } from '../../../lib/fs/system-error.ts'

const minKeyBytes = 32

/**
 * Reads the key that authenticates last good policies, without surrounding white space. Throws if it is shorter than 32
 * bytes, or if its file is in the folder of the policies: a program that can write these could then forge them.
 */
export async function readLastGoodKey({ folder, keyFile }: LastGoodSettings): Promise<Buffer> {
  const key = Buffer.from((await readFile(keyFile, 'utf8')).trim())
  if (key.length < minKeyBytes)
    throw new Error(`the key of the last good policies has ${key.length} bytes; expected at least 32`)
  const realFolder = (await realpath(folder).catch(ignoreMissing)) ?? folder
  if (isWithin(keyFile, folder) || isWithin(await realpath(keyFile), realFolder))
    throw new Error(
      'the key of the last good policies is in their folder; expected it elsewhere, such as in a Secret',
    )
  return key
}
