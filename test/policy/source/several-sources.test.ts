import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { DocumentObserver, OpenDocumentSource } from '../../../src/policy/source/document-source.ts'
import { combineSources, openLocation } from '../../../src/policy/source/policy-source.ts'
import { createFolderLocation } from '../../../src/policy/source/policy-location.ts'
import { parseDocuments } from '../parse-documents.ts'
import { createAuthorizationRequest, createCaller } from '../policy-builder.ts'
import { readerPolicy, writeFiles } from './policy-folder.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

async function openFolders(first: string, second: string) {
  const errors: string[] = []
  const reloads: boolean[] = []
  const source = await combineSources(
    [first, second].map((folder) => openLocation(createFolderLocation(folder), { intervalMs: 5 })),
    {
      onReload: (_, hasError) => reloads.push(hasError),
      onError: ({ message }) => errors.push(message),
    },
  )
  onTestFinished(() => source.close())
  const mayRead = (user: string): boolean =>
    source.current().decide(createAuthorizationRequest(createCaller(user), 'ListTables', 'namespace', ['a']))
      .allowed
  return { source, errors, reloads, mayRead }
}

const documentsOf = (name: string, user: string) =>
  parseDocuments([
    {
      name,
      namespace: ['a'],
      rules: [{ id: 'reads', effect: 'allow', subjects: { users: [user] }, operations: ['read'] }],
    },
  ])

it('an error in one source keeps its last good documents and does not hold back another', async () => {
  const [first, second] = [await temporaryFolder(), await temporaryFolder()]
  await writeFiles(first, { 'a.yaml': readerPolicy('a', 'alice') })
  await writeFiles(second, { 'b.yaml': readerPolicy('b', 'robin') })
  const { errors, reloads, mayRead } = await openFolders(first, second)
  expect([mayRead('alice'), mayRead('robin')]).toEqual([true, true])

  await writeFiles(first, { 'a.yaml': 'kind: AccessPolicie\n' })
  await eventually(() => errors.length > 0)
  await writeFiles(second, { 'b.yaml': readerPolicy('b', 'carol') })
  await eventually(() => mayRead('carol'))
  expect([mayRead('alice'), mayRead('robin'), reloads]).toEqual([true, false, [true]])

  await writeFiles(first, { 'a.yaml': readerPolicy('a', 'dan') })
  await eventually(() => mayRead('dan'))
  expect([mayRead('alice'), mayRead('carol'), reloads]).toEqual([false, true, [true, false]])
})

it('an emptied folder keeps its documents even if another source has some', async () => {
  const [first, second] = [await temporaryFolder(), await temporaryFolder()]
  await writeFiles(first, { 'a.yaml': readerPolicy('a', 'alice') })
  await writeFiles(second, { 'b.yaml': readerPolicy('b', 'robin') })
  const { errors, mayRead } = await openFolders(first, second)
  await rm(join(first, 'a.yaml'))
  await eventually(() => errors.some((message) => message.includes('no longer contains a policy in force')))
  expect([mayRead('alice'), mayRead('robin')]).toEqual([true, true])
})

it('replacements of several sources at once are all in force', async () => {
  const observers: DocumentObserver[] = []
  const opener: OpenDocumentSource = async (observer) => {
    observers.push(observer)
    await observer.load([])
    return { close: () => undefined }
  }
  const source = await combineSources([opener, opener, opener])
  await Promise.all(
    observers.map((observer, index) => observer.load(documentsOf(`p${index}`, `user${index}`))),
  )
  expect(source.current().size).toBe(3)
})

const openNothing: OpenDocumentSource = () => Promise.reject(new Error('cannot be opened'))

it('closes the sources that were opened if another cannot be opened', async () => {
  const close = vi.fn<() => void>()
  const good: OpenDocumentSource = async (observer) => {
    await observer.load([])
    return { close }
  }
  await expect(combineSources([good, openNothing])).rejects.toThrow('cannot be opened')
  expect(close).toHaveBeenCalledOnce()
})
