import { rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  createEmergencyLocation,
  toEmergencyDocuments,
} from '../../../src/policy/source/emergency-policies.ts'
import { loadPolicies } from '../../../src/policy/source/load-policies.ts'
import { combineSources, openLocation } from '../../../src/policy/source/policy-source.ts'
import { createFolderLocation } from '../../../src/policy/source/policy-location.ts'
import { createAuthorizationRequest, createCaller } from '../../policy/policy-builder.ts'
import { readerPolicy, writeFiles } from '../../policy/source/policy-folder.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

// A full disk empties or cuts a file that is written in place (`cat > deny.yaml`): no deny may vanish with it.

const head = `# freezes
apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: freeze }
namespace: [a]
rules:
`
const denies = ['alice', 'bob'].map(
  (user) => `  - id: no-${user}
    effect: deny
    operations: [read]
    subjects:
      users:
        - ${user}
`,
)
const whole = head + denies.join('')

const cuts: readonly (readonly [what: string, text: string])[] = [
  ['emptied', ''],
  ['left with white space', '\n\n'],
  ['left with comments', '# freezes\n'],
  ['left with an empty document', '---\n...\n'],
  ['cut within a name', whole.slice(0, -2)],
  ['cut after a complete rule', head + (denies[0] ?? '')],
  ['cut after a complete rule but for its line break', (head + (denies[0] ?? '')).trimEnd()],
]

/** Watches a policy folder and an emergency folder; `file` is in one of them. */
async function watch(place: 'policies' | 'emergency', text: string) {
  const folder = await temporaryFolder()
  await writeFiles(folder, {
    'policies/allow.yaml': readerPolicy('all', 'alice').replace('[alice]', '[alice, bob]'),
    'emergency/README.md': '',
    [`${place}/deny.yaml`]: text,
  })
  const errors: string[] = []
  const options = { intervalMs: 5 }
  const emergency = { ...options, adapt: toEmergencyDocuments, mayBeEmptied: true }
  const source = await combineSources(
    [
      openLocation(createFolderLocation(join(folder, 'policies')), options),
      openLocation(createEmergencyLocation(join(folder, 'emergency')), emergency),
    ],
    { onError: (error) => errors.push(error.message) },
  )
  onTestFinished(() => source.close())
  const mayRead = (user: string): boolean =>
    source.current().decide(createAuthorizationRequest(createCaller(user), 'ListTables', 'namespace', ['a']))
      .allowed
  return { file: join(folder, place, 'deny.yaml'), errors, mayRead }
}

describe.each(['policies', 'emergency'] as const)('a file in the folder of %s', (place) => {
  it.each(cuts)('that is %s is an error, and its denies stay', async (_what, text) => {
    const { file, errors, mayRead } = await watch(place, whole)
    expect([mayRead('alice'), mayRead('bob')]).toEqual([false, false])
    await writeFile(file, text)
    await eventually(() => errors.length > 0)
    expect(errors[0]).toContain('deny.yaml')
    expect([mayRead('alice'), mayRead('bob')]).toEqual([false, false])
    await writeFile(file, `${head}  []\n`)
    await eventually(() => mayRead('bob'))
  })

  it.each<[how: string, replace: (file: string, text: string) => Promise<void>, text: string]>([
    ['ends with a marker', (file, text) => writeFile(file, text), `${head}${denies[0]}...\n`],
    [
      'replaces the old one',
      async (file, text) => {
        await writeFile(`${file}.new`, text)
        await rename(`${file}.new`, file)
      },
      head + denies[0],
    ],
  ])('that lacks its last rule is used if it %s', async (_how, replace, text) => {
    const { file, errors, mayRead } = await watch(place, whole)
    await replace(file, text)
    await eventually(() => mayRead('bob'))
    // On a slow disk, a file that is written in place may be seen when it is empty.
    const others = errors.filter((error) => !error.includes('has neither a policy nor a test'))
    expect([mayRead('alice'), others]).toEqual([false, []])
  })
})

it.each([
  ['tags of the namespace', 'tags:\n  tables: { t: { tags: [pii] } }\n', '  namespace: [pii]\n'],
  [
    'tags of a table',
    'tags:\n  namespace: [pii]\n  tables:\n    t: { tags: [pii] }\n',
    '    u: { tags: [pii] }\n',
  ],
  ['onDeny: 404', 'tags: { namespace: [pii] }\n', 'onDeny: 404\n'],
])('a file that has lost %s is an error', async (_what, kept, lost) => {
  const start = head.replace('rules:', 'rules: []') + kept
  const { file, errors } = await watch('policies', start + lost)
  await writeFile(file, start)
  await eventually(() => errors.some((error) => error.includes('deny.yaml: has lost a restriction')))
})

it('a file that lacks its last allow is used: an allow does not outlive its rule', async () => {
  const allows = ['alice', 'bob'].map(
    (user) => `  - { id: ${user}, effect: allow, subjects: { users: [${user}] }, operations: [read] }\n`,
  )
  const allow = readerPolicy('freeze', 'nobody')
  const { file, mayRead } = await watch('policies', allow + allows.join(''))
  await writeFile(file, allow + allows[0])
  await writeFile(join(file, '..', 'allow.yaml'), `${head.replaceAll('freeze', 'all')}  []\n`)
  await eventually(() => !mayRead('bob'))
  expect(mayRead('alice')).toBe(true)
})

it.each(cuts.slice(0, 5))('a file that is %s prevents a start', async (_what, text) => {
  const folder = await temporaryFolder()
  await writeFiles(folder, { 'a.yaml': readerPolicy('a', 'alice'), 'deny.yaml': text })
  await expect(loadPolicies(folder)).rejects.toThrow('deny.yaml')
})

it('a file of a mounted ConfigMap, which is replaced as a whole, needs no line break at its end', async () => {
  const folder = await temporaryFolder()
  await writeFiles(folder, { '..2026/deny.yaml': whole.trimEnd() })
  await symlink('..2026', join(folder, '..data'))
  await symlink(join('..data', 'deny.yaml'), join(folder, 'deny.yaml'))
  expect((await loadPolicies(folder)).size).toBe(1)
  await writeFile(join(folder, 'stop.yaml'), whole.trimEnd().replace('name: freeze', 'name: stop'))
  await expect(loadPolicies(folder)).rejects.toThrow('stop.yaml: has no line break at the end')
})
