import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { runAtOnce } from '../../../src/lib/async/run-in-slices.ts'
import { parseKeyLines, splitKeyLines } from '../../../src/identity/api-keys/key-lines.ts'
import { createKey, listKeys, revokeKey, rotateKey } from '../../../src/identity/api-keys/key-store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const pepper = randomBytes(32)
const request = { principal: 'loader', groups: ['writers'] }

const readLines = (text: string) => {
  const lines = splitKeyLines(text)
  return lines && runAtOnce(parseKeyLines(lines))
}

async function makeFile(text: string): Promise<string> {
  const file = join(await temporaryFolder(), 'keys.yaml')
  await writeFile(file, text)
  return file
}

it('a store that is read by lines means the same to a YAML parser', () => {
  const text = fc.string({
    unit: fc.oneof(
      fc.constantFrom('#', ':', '-', '{', ']', '"', '\\', ',', '&', '*', '|', '%', ' ', '\n'),
      fc.string({ unit: 'binary' }),
    ),
  })
  const entry = fc.dictionary(text, fc.oneof(text, fc.array(text), fc.constant(null)))
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 3 }), fc.boolean(), (entries, isCommented) => {
      const lines = entries.map((each) => `  - ${JSON.stringify(each)}`)
      const store = ['# a: comment', 'keys:', ...(isCommented ? ['# - {}'] : []), ...lines, ''].join('\n')
      const read = readLines(store)
      if (read !== undefined) expect(read.map((key) => key.entry)).toEqual(parse(store).keys)
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
])('leaves a store with %s to the YAML parser', (_what, line) => {
  expect(readLines(`keys:\n  - {"id":"C"}\n${line}\n`)).toBeUndefined()
  expect(readLines(`keys:\n${line}\n  - {"id":"C"}\n`)).toBeUndefined()
})

it('numbers keys by their lines in the file', () => {
  expect(readLines('# one\n\nkeys:\n  - {"id":"A"}\n  # two\n  - {"id":"B"}')).toEqual([
    { entry: { id: 'A' }, line: 4 },
    { entry: { id: 'B' }, line: 6 },
  ])
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
  expect(readLines(stored)).toHaveLength(3)
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
