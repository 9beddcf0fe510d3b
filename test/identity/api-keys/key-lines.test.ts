import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { createKey, revokeKey, rotateKey } from '../../../src/identity/api-keys/key-store.ts'
import { listKeys, readKeyLines } from '../../../src/identity/api-keys/key-store-file.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const pepper = randomBytes(32)
const request = { principal: 'loader', groups: ['writers'] }

const readLines = (text: string) => readKeyLines(text, 'keys.yaml')

async function makeFile(text: string): Promise<string> {
  const file = join(await temporaryFolder(), 'keys.yaml')
  await writeFile(file, text)
  return file
}

it('a store that is read by lines means the same to a YAML parser', async () => {
  const text = fc.string({
    unit: fc.oneof(
      fc.constantFrom('#', ':', '-', '{', ']', '"', '\\', ',', '&', '*', '|', '%', ' ', '\n'),
      fc.string({ unit: 'binary' }),
    ),
  })
  const entry = fc.dictionary(text, fc.oneof(text, fc.array(text), fc.constant(null)))
  const entries = fc.array(entry, { minLength: 1, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(entries, fc.boolean(), async (entries, isCommented) => {
      const lines = entries.map((each) => `  - ${JSON.stringify(each)}`)
      const store = ['# a: comment', 'keys:', ...(isCommented ? ['# - {}'] : []), ...lines, ''].join('\n')
      const read = await readLines(store)
      if (read !== undefined) expect(read.value).toEqual(parse(store))
    }),
  )
})

it.each([
  ['a member twice', '  - {"id":"A","id":"B"}'],
  ['a character with two forms', '  - {"id":"\\u0041"}'],
  ['JSON with spaces', '  - {"id": "A"}'],
  ['a value after the key', '  - {"id":"A"} x'],
  ['half a key', '  - {"id":"A"'],
  ['another indentation', '- {"id":"A"}'],
  ['another member of the store', 'other: 1'],
  ['a byte order mark', '  - {"id":"\ufeff"}'],
])('leaves a store with %s to the YAML parser', async (_what, line) => {
  expect(await readLines(`keys:\n  - {"id":"C"}\n${line}\n`)).toBeUndefined()
  expect(await readLines(`keys:\n${line}\n  - {"id":"C"}\n`)).toBeUndefined()
})

it('numbers keys by their lines in the file', async () => {
  const read = await readLines('# one\n\nkeys:\n  - {"id":"A"}\n  # two\n  - {"id":"B"}')
  expect(read?.value).toEqual({ keys: [{ id: 'A' }, { id: 'B' }] })
  expect([0, 1].map((index) => read?.formatPosition(['keys', index]))).toEqual(['keys.yaml:4', 'keys.yaml:6'])
})

it('a command rewrites a store of a person with one line for each key, and loses no key and no comment', async () => {
  const source = await makeFile('keys: [] # none yet\n')
  const made = [await createKey(source, pepper, request), await createKey(source, pepper, request)]
  const [first, second] = made.map(({ key }) => stringify([key]).replaceAll(/^/gm, '  ').trimEnd())
  const file = await makeFile(
    `# ask team-data\n---\n# of sales\nkeys: # all\n${first} # until May\n\n  # of Bob\n${second}\n# the end\n`,
  )
  const { key } = await createKey(file, pepper, request)
  const stored = await readFile(file, 'utf8')
  expect(await listKeys(file)).toEqual([...made.map((each) => each.key), key])
  expect((await readLines(stored))?.value).toMatchObject({ keys: { length: 3 } })
  for (const comment of ['ask team-data', 'of sales', 'all', 'until May', 'of Bob', 'the end']) {
    expect(stored).toContain(`# ${comment}\n`)
  }
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
