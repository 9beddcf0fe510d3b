import { expect, it, vi } from 'vitest'
import {
  combineSources,
  type DocumentObserver,
  type OpenDocumentSource,
} from '../../../src/policy/source/policy-source.ts'
import { parseDocuments } from '../policy-builder.ts'

const documentsOf = (name: string) => parseDocuments([{ name, namespace: ['a'], rules: [] }])

it('replacements of several sources at once are all in force', async () => {
  const observers: DocumentObserver[] = []
  const opener: OpenDocumentSource = async (observer) => {
    observers.push(observer)
    await observer.load([])
    return { close: () => undefined }
  }
  const source = await combineSources(new Map(['one', 'two', undefined].map((name) => [name, opener])))
  await Promise.all(observers.map((observer, index) => observer.load(documentsOf(`p${index}`))))
  expect(source.current().documents).toHaveLength(3)
})

const openNothing: OpenDocumentSource = () => Promise.reject(new Error('cannot be opened'))

it('closes the sources that were opened if another cannot be opened', async () => {
  const close = vi.fn<() => void>()
  const good: OpenDocumentSource = async (observer) => {
    await observer.load([])
    return { close }
  }
  const openers = new Map([
    ['one', good],
    [undefined, openNothing],
  ])
  await expect(combineSources(openers)).rejects.toThrow('cannot be opened')
  expect(close).toHaveBeenCalledOnce()
})
