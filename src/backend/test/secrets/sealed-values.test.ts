import { createDecipheriv, hkdfSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { secretsKey } from '../support/secrets-key.ts'
import { responseOf, runningBackend } from '../support/running-backend.ts'

const key = 'a-key-of-the-operator-with-45-characters-0123'

/** Follows the description in docs/catalog.md. */
function open(sealed: string, id: readonly string[], secret = key): unknown {
  const bytes = Buffer.from(sealed, 'base64url')
  const derived = Buffer.from(hkdfSync('sha256', secret, '', 'catalog-gateway values of secrets', 32))
  const decipher = createDecipheriv('aes-256-gcm', derived, bytes.subarray(0, 12))
  decipher.setAAD(Buffer.from(id.join('/')))
  decipher.setAuthTag(bytes.subarray(-16))
  return JSON.parse(decipher.update(bytes.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8'))
}

/** Stores one value under two names, and another one under the first. Returns the rows by name. */
async function storedValues() {
  const { post, stop, openDatabase } = await runningBackend(await secretsKey(key))
  await post('/v1/namespace/a/create', {})
  for (const [request, value] of [
    ['a$one/create', 'first "é"'],
    ['a$two/create', 'second'],
    ['two/create', 'second'],
    ['a$one/alter', 'third'],
  ])
    expect(await post(`/v1/secret/${request}`, { value })).toEqual(responseOf({}))
  await stop()
  const { database, close } = await openDatabase()
  const rows = await database.selectFrom('secrets').select(['name', 'sealed_value']).execute()
  await close()
  return rows
}

it('a value opens with the key under its own id alone, and each is sealed with another nonce', async () => {
  const rows = await storedValues()
  const [one = ''] = rows.filter(({ name }) => name === 'one').map((row) => row.sealed_value)
  const twos = rows.filter(({ name }) => name === 'two').map((row) => row.sealed_value)
  expect(open(one, ['a', 'one'])).toBe('third')
  for (const id of [['one'], ['a', 'two'], ['b', 'one'], []]) expect(() => open(one, id)).toThrow()
  expect(() => open(one, ['a', 'one'], `${key}x`)).toThrow()
  expect(twos).toHaveLength(2)
  expect(new Set([one, ...twos].map((sealed) => sealed.slice(0, 16))).size).toBe(3)
})
