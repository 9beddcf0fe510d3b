import { randomBytes } from 'node:crypto'
import { appendFile, readFile } from 'node:fs/promises'
import { createKey, type CreatedKey, type NewKey } from '../../../src/identity/api-keys/key-store.ts'

/** Adds a key that was created with another pepper to a store with keys; `createKey` refuses to. */
export async function addKeyOfOtherPepper(store: string, request: NewKey): Promise<CreatedKey> {
  const other = `${store}.other.yaml`
  const created = await createKey(other, randomBytes(32), request)
  await appendFile(store, (await readFile(other, 'utf8')).split('\n').slice(-2).join('\n'))
  return created
}
