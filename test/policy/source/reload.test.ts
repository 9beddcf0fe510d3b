import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { watchPolicies } from '../../../src/policy/source/policy-source.ts'
import { createFolderLocation } from '../../../src/policy/source/policy-location.ts'
import type { PolicyError } from '../../../src/policy/language/policy-error.ts'
import type { PolicySet } from '../../../src/policy/policy-set.ts'
import { readerPolicy, writeFiles } from './policy-folder.ts'
import { createAuthorizationRequest, createCaller } from '../policy-builder.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

async function watch(folder: string) {
  const reloads: PolicySet[] = []
  const errors: PolicyError[] = []
  const source = await watchPolicies(createFolderLocation(folder), {
    intervalMs: 5,
    onReload: (set) => reloads.push(set),
    onError: (error) => errors.push(error),
  })
  onTestFinished(() => source.close())
  const mayRead = (user: string): boolean =>
    source.current().decide(createAuthorizationRequest(createCaller(user), 'ListTables', 'namespace', ['a']))
      .allowed
  return { source, reloads, errors, mayRead }
}

async function severalPolls(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 300))
}

it('reloads on a changed, a new and a removed file', async () => {
  const folder = await temporaryFolder()
  await writeFiles(folder, { 'a.yaml': readerPolicy('a', 'alice') })
  const { reloads, mayRead, source } = await watch(folder)
  expect(mayRead('alice')).toBe(true)

  await writeFiles(folder, { 'a.yaml': readerPolicy('a', 'robin') })
  await eventually(() => mayRead('robin'))
  expect(mayRead('alice')).toBe(false)
  expect(reloads.at(-1)).toBe(source.current())

  await writeFiles(folder, { 'team/b.yaml': readerPolicy('b', 'alice') })
  await eventually(() => mayRead('alice'))
  await rm(join(folder, 'a.yaml'))
  await eventually(() => !mayRead('robin'))
})

it('keeps the last valid set during an error and reports the error once', async () => {
  const folder = await temporaryFolder()
  await writeFiles(folder, { 'a.yaml': readerPolicy('a', 'alice') })
  const { reloads, errors, mayRead } = await watch(folder)

  await writeFiles(folder, { 'a.yaml': 'kind: AccessPolicie\n', 'b.yaml': readerPolicy('b', 'robin') })
  await eventually(() => errors.length > 0)
  await severalPolls()
  expect(errors.filter(({ message }) => message.includes('AccessPolicie'))).toHaveLength(1)
  expect([mayRead('alice'), mayRead('robin'), reloads.length]).toEqual([true, false, 0])

  await writeFiles(folder, { 'a.yaml': readerPolicy('a', 'carol') })
  await eventually(() => mayRead('carol'))
  expect([mayRead('alice'), mayRead('robin')]).toEqual([false, true])
})

it('keeps the last valid set while the folder is missing, and reports each loss and recovery', async () => {
  const folder = join(await temporaryFolder(), 'policies')
  await writeFiles(folder, { 'a.yaml': readerPolicy('a', 'alice') })
  const { reloads, errors, mayRead } = await watch(folder)
  await rename(folder, `${folder}-elsewhere`)
  await eventually(() => errors.length > 0)
  await severalPolls()
  const reported = errors.filter(({ message }) => message === `${folder}: cannot be read (ENOENT)`)
  expect([reported.length, reloads.length, mayRead('alice')]).toEqual([1, 0, true])
  await rename(`${folder}-elsewhere`, folder)
  await eventually(() => reloads.length === 1)
  const before = errors.length
  await rename(folder, `${folder}-elsewhere`)
  await eventually(() => errors.length > before)
})

it('reloads a ConfigMap completely when Kubernetes swaps its link', async () => {
  const folder = await temporaryFolder()
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
  const { source, reloads, mayRead } = await watch(folder)
  for (const version of [1, 2, 3, 4, 5]) {
    await release(`v${version}`, `user${version}`)
    await eventually(() => mayRead(`user${version}`))
    await rm(join(folder, `..v${version - 1}`), { recursive: true })
  }
  for (const set of [source.current(), ...reloads]) {
    const users = [0, 1, 2, 3, 4, 5].flatMap((version) => [`user${version}`, `user${version}-too`])
    const readers = users.filter(
      (user) =>
        set.decide(createAuthorizationRequest(createCaller(user), 'ListTables', 'namespace', ['a'])).allowed,
    )
    expect(readers).toHaveLength(2)
    expect(readers[1]).toBe(`${readers[0]}-too`)
  }
})

it('keeps the last valid set if the folder becomes empty, as after a failed mount', async () => {
  const folder = await temporaryFolder()
  await writeFiles(folder, { 'a.yaml': readerPolicy('a', 'alice') })
  const { errors, mayRead } = await watch(folder)
  await rm(join(folder, 'a.yaml'))
  const message = `${folder}: no longer contains a policy in force; to deny everything, keep a policy without rules`
  // A poll may have listed the file before.
  await eventually(() => expect(errors.map((error) => error.message)).toContain(message))
  expect(mayRead('alice')).toBe(true)
})

it('detects consecutive changes of equal size', async () => {
  const folder = await temporaryFolder()
  const { mayRead } = await watch(folder)
  for (const user of ['aaaaa', 'bbbbb', 'ccccc', 'ddddd', 'eeeee', 'fffff']) {
    await writeFiles(folder, { 'a.yaml': readerPolicy('a', user) })
    await eventually(() => mayRead(user))
  }
})

it('throws if the first load fails', async () => {
  const folder = await temporaryFolder()
  await writeFiles(folder, { 'a.yaml': 'kind: AccessPolicie\n' })
  await expect(watchPolicies(createFolderLocation(folder))).rejects.toThrow(
    'a.yaml:1:7: kind is "AccessPolicie"',
  )
})

it('changes nothing after it is closed', async () => {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'team'))
  const { source, reloads, errors } = await watch(folder)
  const before = source.current()
  source.close()
  await writeFile(join(folder, 'team/a.yaml'), readerPolicy('a', 'alice'))
  await severalPolls()
  expect(source.current()).toBe(before)
  expect([...reloads, ...errors]).toEqual([])
})
