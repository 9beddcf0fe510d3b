import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadPolicies } from '../../../src/policy/source/load-policies.ts'
import { listIgnoredFiles, namePolicyFolders } from '../../../src/policy/source/policy-folder.ts'
import { readerPolicy, writeFiles } from './policy-folder.ts'
import { createAuthorizationRequest, createCaller } from '../policy-builder.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const load = async (...folders: readonly string[]) => (await loadPolicies(folders)).set

it('reads every YAML file, including those in subfolders, and nothing else', async () => {
  const folder = await temporaryFolder()
  await writeFiles(folder, {
    'one.yaml': readerPolicy('one', 'alice', 'a'),
    'team/two.yml': `${readerPolicy('two', 'alice', 'b')}---\n${readerPolicy('three', 'alice', 'c')}`,
    'README.md': '# not a policy',
    'one.yaml.bak': 'not: a policy',
    '.hidden.yaml': 'not: a policy',
    '.git/four.yaml': 'not: a policy',
  })
  const set = await load(folder)
  expect(set.documents).toHaveLength(3)
  expect(
    set.decide(createAuthorizationRequest(createCaller('alice'), 'ListTables', 'namespace', ['c'])),
  ).toMatchObject({
    allowed: true,
    rule: { policy: 'three', rule: 'reads', file: 'team/two.yml', line: 13 },
  })
})

it('denies everything if there is no policy', async () => {
  const set = await load(await temporaryFolder())
  expect(set.documents).toHaveLength(0)
  expect(
    set.decide(createAuthorizationRequest(createCaller('alice'), 'ListTables', 'namespace', [])),
  ).toMatchObject({ reason: 'no_rule' })
})

it('orders files by name, not by creation', async () => {
  const folder = await temporaryFolder()
  for (const name of ['c', 'a/b', 'a']) {
    await writeFiles(folder, { [`${name}.yaml`]: readerPolicy(name.replace('/', '-'), 'x') })
  }
  const set = await load(folder)
  expect(
    set.decide(createAuthorizationRequest(createCaller('x'), 'ListTables', 'namespace', ['a'])),
  ).toMatchObject({
    rule: { file: 'a.yaml' },
  })
})

const [one, two] = [readerPolicy('one', 'alice'), readerPolicy('two', 'alice')]

it.each<
  [
    what: string,
    files: Readonly<Record<string, string>>,
    links: Readonly<Record<string, string>>,
    count: number,
  ]
>([
  [
    'a mounted ConfigMap once, through its links',
    { '..2026_01_01/one.yaml': one, '..2026_01_01/team/two.yaml': two },
    { '..data': '..2026_01_01', 'one.yaml': '..data/one.yaml', team: '..data/team' },
    2,
  ],
  [
    'the target of two links once, and no cycle',
    { 'real/one.yaml': one },
    { again: 'real', 'real/up': '..' },
    1,
  ],
  [
    'a file through a link with another name, because it may hold a deny',
    { 'one.yaml': one, 'two.txt': two },
    { current: 'one.yaml', 'zwei.yaml': 'two.txt' },
    2,
  ],
  ['names in other cases', { 'a.YAML': one, 'b.Yml': two }, {}, 2],
])('reads %s', async (_what, files, links, count) => {
  const folder = await temporaryFolder()
  await writeFiles(folder, files)
  for (const [name, target] of Object.entries(links)) await symlink(target, join(folder, name))
  expect((await load(folder)).documents).toHaveLength(count)
  // The folder itself may be a link, too.
  const link = join(await temporaryFolder(), 'policies')
  await symlink(folder, link)
  expect((await load(link)).documents).toHaveLength(count)
})

it('reports every error in every file, in the order of the files', async () => {
  const folder = await temporaryFolder()
  await writeFiles(folder, {
    'a.yaml': readerPolicy('one', 'alice').replace('[read]', '[reed, Fly]'),
    'b/c.yaml': 'kind: [',
    'd.yaml': Uint8Array.from([0x61, 0x3a, 0x20, 0xff]),
  })
  await expect(load(folder)).rejects.toMatchObject({
    name: 'PolicyError',
    problems: [
      { file: 'a.yaml', line: 6, column: 76 },
      { file: 'a.yaml', line: 6, column: 82 },
      { file: 'b/c.yaml', line: 1, column: 8 },
      { file: 'd.yaml', message: 'is not valid UTF-8' },
    ],
  })
  await expect(load(folder)).rejects.toThrow(
    'a.yaml:6:76: rules[0].operations[0]: unknown operation or group "reed"; did you mean "read"?\n',
  )
})

it('reads several folders as one tree, with the names of their files in the folder around them', async () => {
  const folder = await temporaryFolder()
  await writeFiles(folder, { 'x/one/a.yaml': readerPolicy('one', 'alice') })
  await writeFiles(folder, { 'x/deep/two/a.yaml': readerPolicy('two', 'bob') })
  const set = await load(join(folder, 'x/one'), join(folder, 'x/deep/two'))
  const rules = ['alice', 'bob'].map((user) => {
    const request = createAuthorizationRequest(createCaller(user), 'ListTables', 'namespace', ['a'])
    return set.decide(request).rule?.file
  })
  expect(rules).toEqual(['one/a.yaml', 'deep/two/a.yaml'])
})

it.each([
  [['/p'], ['']],
  [['/p/'], ['']],
  [
    ['/x/a', '/x/ab'],
    ['a/', 'ab/'],
  ],
  [
    ['/x/a', '/y'],
    ['x/a/', 'y/'],
  ],
])('files of %j begin with %j', (paths, prefixes) => {
  expect(namePolicyFolders(paths).map(({ prefix }) => prefix)).toEqual(prefixes)
})

function template(values: string): string {
  return readerPolicy('same', 'alice').replace(
    /^namespace: .*$/m,
    `forEach: { x: ${values} }\nnamespace: ['{x}']`,
  )
}

it('rejects two policies with one name, even in two files; with forEach it is one, whatever the values', async () => {
  const duplicate = 'b.yaml:3:19: metadata.name: duplicate policy name "same", also in a.yaml:3'
  for (const [policy, count] of [
    [readerPolicy('same', 'alice'), 1],
    [template('[a, b]'), 2],
  ] as const) {
    const folder = await temporaryFolder()
    await writeFiles(folder, { 'a.yaml': policy })
    expect((await load(folder)).documents).toHaveLength(count)
    for (const other of [template('[c, d]'), readerPolicy('same', 'bob')]) {
      await writeFiles(folder, { 'b.yaml': other })
      await expect(load(folder)).rejects.toThrow(duplicate)
    }
  }
})

it('rejects entries that cannot be read, because they may have held a deny', async () => {
  const folder = await temporaryFolder()
  await expect(load(join(folder, 'missing'))).rejects.toThrow('cannot be read (ENOENT)')
  await writeFiles(folder, { 'a.yaml': readerPolicy('a', 'alice') })
  await symlink('nothing', join(folder, 'b.yaml'))
  await expect(load(folder)).rejects.toThrow('b.yaml: cannot be read (ENOENT)')
})

it('a folder that is named like a policy file is an error, as one in place of a missing file', async () => {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'a.yaml'))
  await expect(load(folder)).rejects.toThrow('a.yaml: is not a file')
})

it('lists files that are not read although their names suggest policies', async () => {
  const folder = await temporaryFolder()
  const names = ['a.yaml', 'deny.json', 'deny.yml.bak', 'README.md', '.hidden.yaml~', 'team/deny.yaml~']
  await writeFiles(folder, Object.fromEntries(names.map((name) => [name, readerPolicy('a', 'alice')])))
  expect(await listIgnoredFiles([folder])).toEqual(['deny.json', 'deny.yml.bak', 'team/deny.yaml~'])
})
