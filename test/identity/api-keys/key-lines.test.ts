import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { createKey, revokeKey, rotateKey } from '../../../src/identity/api-keys/key-store.ts'
import { listKeys, listStoredKeys, parseKeyStore } from '../../../src/identity/api-keys/key-store-file.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { anyCharacter } from '../../support/any-character.ts'

const pepper = randomBytes(32)
const request = { principal: 'loader', groups: ['writers'] }
const key = {
  id: 'ABCDEFGHIJKL',
  principal: 'bob',
  hash: '0a'.repeat(32),
  createdAt: '2026-01-01T00:00:00Z',
}

const toLine = (entry: object): string => `  - ${JSON.stringify(entry)}`

async function problemsOf(...lines: readonly string[]): Promise<string> {
  return parseKeyStore(lines.join('\n'), 'keys.yaml').then(
    () => '',
    (error: Error) => error.message,
  )
}

it.each([
  ['nothing', '', 1],
  ['a list', '- a', 1],
  ['another shape', 'kyes: []', 1],
  ['a comment alone', '# keys', 1],
  ['no more than its beginning', 'keys:', 1],
  ['another list', 'keys: []\nmore: []', 1],
  ['a list twice', 'keys: []\nkeys: []', 2],
  ['half a key', `keys:\n${toLine(key)}\n  - {"id":"A"`, 3],
  ['a member twice', 'keys:\n  - {"id":"A","id":"B"}', 2],
  ['an alias of nothing', '\nkeys: *a', 1],
  ['a byte order mark', '---\n\ufeffkeys: []\n', 2],
  // At this depth, the YAML library crashes the process.
  ['deep nesting', `# keys\nkeys:\n  ${'['.repeat(20_000)}`, 3],
])('refuses a store that holds %s', async (_what, text, line) => {
  expect(await problemsOf(text)).toMatch(new RegExp(`^keys\\.yaml:${line}: `))
})

it('reads a store of a person, and a command rewrites it with one line for each key', async () => {
  const file = join(await temporaryFolder(), 'keys.yaml')
  await writeFile(file, stringify({ keys: [key, { ...key, id: 'MNOPQRSTUVWX' }] }))
  const before = await listKeys(file)
  expect(before.map(({ id }) => id)).toEqual([key.id, 'MNOPQRSTUVWX'])
  const { key: created } = await createKey(file, pepper, request)
  expect((await readFile(file, 'utf8')).match(/^ {2}- \{"id":.*\}$/gm)).toHaveLength(3)
  expect(await listKeys(file)).toEqual([...before, created])
})

it('a store that is read by lines means the same to a YAML parser', async () => {
  const text = fc.string({
    unit: fc.oneof(
      fc.constantFrom('#', ':', '"', '\\', '&', '*', '|', '%', ' '),
      fc.string({ unit: anyCharacter }),
    ),
  })
  await fc.assert(
    fc.asyncProperty(text, async (description) => {
      const store = ['# a: comment', 'keys:', '# - {}', toLine({ ...key, description }), ''].join('\n')
      const [read] = listStoredKeys(await parseKeyStore(store, 'keys.yaml'))
      const { keys } = parse(store) as { readonly keys: readonly object[] }
      expect(read).toMatchObject(keys[0] ?? {})
    }),
  )
})

it.each<[what: string, members: object, problem: string]>([
  ['a misspelt member', { revoketAt: '2026-01-31T12:00:00Z' }, 'Unrecognized key'],
  ['a revocation without a time', { revokedAt: 'yes' }, 'revokedAt: expected an existing time'],
  ['an expiry that is no time', { expiresAt: 'soon' }, 'expiresAt: expected an existing time'],
  ['groups that are no list', { groups: 'everyone' }, 'groups: '],
  ['no id', { id: undefined }, 'id: '],
  ['a pasted key', { hash: 'cgk_pasted_here' }, 'hash: expected 64 hex digits'],
])('refuses a key with %s, and says where, without its value', async (_what, members, problem) => {
  const found = await problemsOf('# of sales', 'keys:', toLine({ ...key, ...members }))
  expect(found).toMatch(new RegExp(`^keys\\.yaml:3: ${problem}`))
  expect(found).not.toContain('pasted')
})

it('refuses two entries of one id: one of them may say that it is revoked', async () => {
  const revoked = { ...key, revokedAt: '2026-01-31T12:00:00Z' }
  expect(await problemsOf('keys:', toLine(revoked), '# again', toLine(key))).toBe(
    'keys.yaml:4: id: duplicate id',
  )
})

it('commands change the line of their key only', async () => {
  const file = join(await temporaryFolder(), 'keys.yaml')
  const { key: old } = await createKey(file, pepper, request)
  const { key: successor } = await rotateKey(file, pepper, { id: old.id, endsAt: new Date('2099-01-01') })
  await writeFile(file, (await readFile(file, 'utf8')).replace('keys:\n', 'keys:\n  # of Ada\n'))
  const before = (await readFile(file, 'utf8')).split('\n')
  // The line of the successor contains the id, too.
  await revokeKey(file, old.id)
  const after = (await readFile(file, 'utf8')).split('\n')
  expect(after.filter((line, index) => line !== before[index])).toEqual([
    expect.stringContaining('revokedAt'),
  ])
  expect((await listKeys(file)).map(({ id, revokedAt }) => [id, revokedAt === undefined])).toEqual([
    [old.id, false],
    [successor.id, true],
  ])
})
