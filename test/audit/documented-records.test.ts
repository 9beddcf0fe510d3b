import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'

const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
const page = await read('docs/audit-records.md')
const records = await read('src/audit/records/audit-record.ts')

type Section = readonly [section: string, type: string, source: string]

const entries: readonly Section[] = [
  ['intent', 'IntentEntry', records],
  ['resolved', 'ResolvedEntry', records],
  ['refusal', 'RefusalEntry', records],
  ['passThrough', 'PassThroughEntry', records],
  ['reload', 'ReloadEntry', records],
  ['undelivered', 'Undelivered', await read('src/audit/sinks/sink.ts')],
]

it.each<Section>([
  ...entries,
  ['All records', 'RecordFrame', records],
  ['outcome', 'OutcomeEntry', records],
  ['Parts of records', 'AuditedObject', records],
  ['Parts of records', 'CreatedVersion', records],
  ['Parts of records', 'UploadFacts', records],
  ['Parts of records', 'AuditedPrincipal', records],
  ['Parts of records', 'RuleReference', await read('src/policy/engine/decision.ts')],
  ['Parts of records', 'KeyChange', await read('src/identity/api-keys/key-changes.ts')],
])('docs/audit-records.md names in "%s" every member of %s', (section, type, source) => {
  const members = membersOf(type, source)
  expect(members).not.toEqual([])
  expect(namesIn(sectionOf(section))).toEqual(expect.arrayContaining(members))
})

it('docs/audit-records.md names every kind of record and its members', () => {
  const names = [...namesIn(page), ...[...page.matchAll(/^## (\w+)$/gm)].map(([, name = '']) => name)]
  expect(names).toEqual(expect.arrayContaining(membersOf('RecordBodies', records)))
})

it.each(entries)('docs/audit-records.md lists in "%s" only members of %s', (section, type, source) => {
  // Those that refer to the intent are not in its entry.
  const members = ['request', 'intentSeq', 'intentChain', ...membersOf(type, source)]
  const listed = sectionOf(section)
    .split('\n')
    .map((line) => line.split(' | ')[0] ?? '')
  expect(members).toEqual(
    expect.arrayContaining(namesIn(listed.filter((cell) => cell.startsWith('|')).join())),
  )
})

/** Returns the names of members, also of nested objects and of the interfaces of this source that it extends. */
function membersOf(type: string, source: string): string[] {
  const declaration = new RegExp(`^(?:export )?interface ${type}\\b([^{]*?)\\{\n([^]*?)^\\}`, 'm').exec(
    source,
  )
  const [, extended = '', body = ''] = declaration ?? []
  const bases = [...extended.matchAll(/\b[A-Z]\w+/g)]
  return [
    ...bases.flatMap(([base]) => membersOf(base, source)),
    ...[...body.matchAll(/\breadonly (\w+)\??:/g)].map(([, name = '']) => name),
  ]
}

function sectionOf(heading: string): string {
  return page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
}

function namesIn(text: string): string[] {
  return [...text.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
}
