import { readFile } from 'node:fs/promises'
import type { BootstrapKeySettings } from '../../config/identity/identity-settings.ts'
import type { StaticKey } from './api-keys.ts'

/** Reads the bootstrap key; ignores surrounding white space. Rejects if it is too short to be a secret. */
export async function readBootstrapKey({
  file,
  principal,
  groups,
}: BootstrapKeySettings): Promise<StaticKey> {
  const text = (await readFile(file, 'utf8')).trim()
  if (!/^[!-~]{32,256}$/.test(text)) {
    throw new Error(`${file}: expected a key of 32 to 256 printable characters without spaces`)
  }
  return { text, principal, groups }
}
