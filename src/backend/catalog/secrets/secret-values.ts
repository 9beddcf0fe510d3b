import { CatalogError, type Identifier } from 'catalog-gateway/catalog-api'
import { createJsonSealer, readSecret } from 'catalog-gateway/lib'
import { toPath } from '../../database/objects.ts'
import type { EmbeddedSettings } from '../../settings/backend-settings.ts'

/**
 * Encrypts the value of a secret for the database, bound to the id of the secret. Throws Unsupported (406) if no key is
 * configured. docs/catalog.md describes the form.
 */
export type SealValue = (id: Identifier, value: string) => string

const minKeyBytes = 32

/** Reads the key of the values. Rejects with a plain error if it cannot be read, or is too short. */
export async function openSealValue({ keyFile }: EmbeddedSettings['secrets']): Promise<SealValue> {
  if (keyFile === undefined) return throwKeyMissing
  const key = Buffer.from(await readSecret(keyFile))
  if (key.length < minKeyBytes) {
    throw new Error(`the key in secrets.keyFile has ${key.length} bytes; expected at least ${minKeyBytes}`)
  }
  const sealer = createJsonSealer(key, 'catalog-gateway values of secrets')
  return (id, value) => sealer.seal(value, toPath(id))
}

function throwKeyMissing(): never {
  throw new CatalogError(
    'Unsupported',
    'this catalog stores no values of secrets, as it has no key to encrypt them; set secrets.keyFile in its settings',
  )
}
