import { mkdir, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { reloadFiles } from '../../../src/lib/fs/follow-files.ts'
import { readerPolicy, writeFiles } from './policy-folder.ts'
import { watch } from './watched-folders.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = join(await temporaryFolder(), 'policies')
  await writeFiles(folder, files)
  return folder
}

it('reloads on a changed, a new and a removed file', async () => {
  const folder = await folderWith({ 'a.yaml': readerPolicy('a', 'alice') })
  const { mayRead, poll, reloads } = await watch([folder])
  expect(mayRead('alice')).toBe(true)
  await writeFiles(folder, { 'a.yaml': readerPolicy('a', 'robin') })
  await poll()
  expect([mayRead('alice'), mayRead('robin')]).toEqual([false, true])
  await writeFiles(folder, { 'team/b.yaml': readerPolicy('b', 'alice') })
  await poll()
  expect([mayRead('alice'), mayRead('robin')]).toEqual([true, true])
  await rm(join(folder, 'a.yaml'))
  await poll()
  await poll()
  expect([mayRead('alice'), mayRead('robin')]).toEqual([true, false])
  expect(reloads).toEqual([1, 2, 3].map(() => [folder, false]))
})

it('keeps the last policies during an error, which is reported once, and again on request', async () => {
  const folder = await folderWith({ 'a.yaml': readerPolicy('a', 'alice') })
  const { source, reloads, errors, mayRead, poll } = await watch([folder])
  await writeFiles(folder, { 'a.yaml': 'kind: AccessPolicie\n', 'b.yaml': readerPolicy('b', 'robin') })
  await poll()
  await poll()
  expect(errors).toEqual([expect.stringContaining('AccessPolicie')])
  expect([mayRead('alice'), mayRead('robin'), reloads]).toEqual([true, false, []])
  expect(source.listFailingFolders()).toEqual([folder])
  await reloadFiles()
  expect(errors).toHaveLength(2)
  await writeFiles(folder, { 'a.yaml': readerPolicy('a', 'carol') })
  await poll()
  expect(['alice', 'robin', 'carol'].map(mayRead)).toEqual([false, true, true])
  expect(source.listFailingFolders()).toEqual([])
})

it('reloads a ConfigMap completely when Kubernetes swaps its link', async () => {
  const folder = await folderWith({})
  const release = async (version: string, user: string): Promise<void> => {
    await writeFiles(folder, {
      [`..${version}/one.yaml`]: readerPolicy('one', user),
      [`..${version}/two.yaml`]: readerPolicy('two', `${user}-too`),
    })
    await symlink(`..${version}`, join(folder, '..data_tmp'))
    await rename(join(folder, '..data_tmp'), join(folder, '..data'))
  }
  await release('v0', 'user0')
  for (const name of ['one.yaml', 'two.yaml']) await symlink(`..data/${name}`, join(folder, name))
  const { mayRead, poll } = await watch([folder])
  for (const version of [1, 2, 3]) {
    await release(`v${version}`, `user${version}`)
    await rm(join(folder, `..v${version - 1}`), { recursive: true })
    await poll()
    const readers = [0, 1, 2, 3].flatMap((one) => [`user${one}`, `user${one}-too`]).filter(mayRead)
    expect(readers).toEqual([`user${version}`, `user${version}-too`])
  }
})

it('detects consecutive changes of equal size', async () => {
  const folder = await folderWith({ 'a.yaml': readerPolicy('a', 'alice') })
  const { mayRead, poll } = await watch([folder])
  for (const user of ['aaaaa', 'bbbbb', 'ccccc']) {
    await writeFiles(folder, { 'a.yaml': readerPolicy('a', user) })
    await poll()
    expect(mayRead(user)).toBe(true)
  }
})

it('changes nothing after it is closed', async () => {
  const folder = await folderWith({ 'a.yaml': readerPolicy('a', 'alice') })
  const { source, reloads, errors, poll } = await watch([folder])
  const before = source.current()
  source.close()
  await writeFiles(folder, { 'a.yaml': readerPolicy('a', 'robin') })
  await poll()
  expect([source.current() === before, reloads, errors]).toEqual([true, [], []])
})

it.each([
  ['an empty one', ''],
  ['one with comments', '# freezes\n'],
  ['an empty document', '---\n...\n'],
])('a file that becomes %s, as on a full disk, is an error: its denies stay', async (_what, text) => {
  const deny = readerPolicy('deny', 'alice').replace('allow', 'deny')
  const folder = await folderWith({ 'a.yaml': readerPolicy('a', 'alice'), 'deny.yaml': deny })
  const { errors, mayRead, poll } = await watch([folder])
  await writeFiles(folder, { 'deny.yaml': text })
  await poll()
  expect([mayRead('alice'), errors]).toEqual([
    false,
    ['deny.yaml: has neither a policy nor a test; expected one (without policies, remove the file)'],
  ])
  await expect(watch([folder])).rejects.toThrow('deny.yaml: has neither')
})

/** Two folders, `one` and `two`. */
async function twoFolders(one: Readonly<Record<string, string>>, two: Readonly<Record<string, string>>) {
  const folder = await temporaryFolder()
  const paths = [join(folder, 'one'), join(folder, 'two')] as const
  for (const path of paths) await mkdir(path)
  await writeFiles(paths[0], one)
  await writeFiles(paths[1], two)
  return paths
}

it('a broken folder keeps its last policies and holds back no other', async () => {
  const [one, two] = await twoFolders(
    { 'a.yaml': readerPolicy('a', 'alice') },
    { 'a.yaml': readerPolicy('b', 'robin') },
  )
  const { source, errors, reloads, mayRead, poll } = await watch([one, two])
  expect([mayRead('alice'), mayRead('robin')]).toEqual([true, true])
  await writeFiles(one, { 'a.yaml': 'kind: AccessPolicie\n' })
  await writeFiles(two, { 'a.yaml': readerPolicy('b', 'carol') })
  await poll()
  expect(['alice', 'robin', 'carol'].map(mayRead)).toEqual([true, false, true])
  expect([errors, reloads]).toEqual([[expect.stringMatching(/^one\/a\.yaml:1:7: kind is /m)], [[two, true]]])
  expect(source.listFailingFolders()).toEqual([one])
  await writeFiles(one, { 'a.yaml': readerPolicy('a', 'dan') })
  await poll()
  expect(['alice', 'carol', 'dan'].map(mayRead)).toEqual([false, true, true])
  expect([reloads.at(-1), source.listFailingFolders()]).toEqual([[one, false], []])
})

it.each([
  ['is emptied', (folder: string) => rm(join(folder, 'a.yaml')), 'no longer contains a policy in force'],
  ['vanishes', (folder: string) => rm(folder, { recursive: true }), 'cannot be read (ENOENT)'],
  [
    'becomes a file',
    async (folder: string) => {
      await rm(folder, { recursive: true })
      await writeFiles(join(folder, '..'), { two: '' })
    },
    'is not a folder',
  ],
])('a folder that %s keeps its policies, and is read again when they are back', async (_, lose, message) => {
  const deny = readerPolicy('deny', 'alice').replace('allow', 'deny')
  const [one, two] = await twoFolders({ 'a.yaml': readerPolicy('a', 'alice') }, { 'a.yaml': deny })
  const { errors, mayRead, poll } = await watch([one, two])
  await lose(two)
  await poll()
  await poll()
  expect([errors, mayRead('alice')]).toEqual([[expect.stringContaining(`${two}: ${message}`)], false])
  await rm(two, { recursive: true, force: true })
  await writeFiles(two, { 'a.yaml': deny.replace('[alice]', '[bob]') })
  await poll()
  expect(mayRead('alice')).toBe(true)
})

it('a start needs all folders', async () => {
  const [one, two] = await twoFolders({ 'a.yaml': readerPolicy('a', 'alice') }, {})
  await expect(watch([one, two])).rejects.toThrow(`${two}: contains no policy`)
  await writeFiles(two, { 'b.yaml': 'kind: AccessPolicie\n' })
  await expect(watch([one, two])).rejects.toThrow('two/b.yaml:1:7: kind is "AccessPolicie"')
  await rm(two, { recursive: true })
  await expect(watch([one, two])).rejects.toThrow(`${two}: cannot be read (ENOENT)`)
})

it('a name that another folder has is an error of the folder that changed', async () => {
  const message = 'two/b.yaml:3:19: metadata.name: duplicate policy name "a", also in one/a.yaml:3'
  const [one, two] = await twoFolders(
    { 'a.yaml': readerPolicy('a', 'alice') },
    { 'b.yaml': readerPolicy('b', 'robin') },
  )
  const { source, errors, mayRead, poll } = await watch([one, two])
  await writeFiles(two, { 'b.yaml': readerPolicy('a', 'carol') })
  await poll()
  expect([errors, source.listFailingFolders(), mayRead('robin'), mayRead('carol')]).toEqual([
    [message],
    [two],
    true,
    false,
  ])
  await expect(watch([one, two])).rejects.toThrow(message)
  await writeFiles(one, { 'a.yaml': readerPolicy('c', 'alice') })
  await poll()
  expect([source.listFailingFolders(), mayRead('carol')]).toEqual([[], true])
})

it('rules name tags of other folders, which are then needed', async () => {
  const tagged = readerPolicy('b', 'robin').replace('[read]', `[read], when: '"open" in tags'`)
  const tags = readerPolicy('a', 'alice').replace('rules:', 'tags: { namespace: [open] }\nrules:')
  const [one, two] = await twoFolders({ 'a.yaml': tags }, { 'b.yaml': tagged })
  const { source, errors, mayRead, poll } = await watch([one, two])
  expect(mayRead('robin')).toBe(true)
  await writeFiles(one, { 'a.yaml': readerPolicy('a', 'alice') })
  await poll()
  expect(errors).toEqual([
    expect.stringMatching(/^two\/b\.yaml:6:\d+: the rule "reads" names the tag "open"/),
  ])
  expect([source.listFailingFolders(), mayRead('robin')]).toEqual([[one], true])
})
