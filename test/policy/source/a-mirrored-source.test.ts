import { expect, it } from 'vitest'
import type { DocumentObserver, OpenDocumentSource } from '../../../src/policy/source/document-source.ts'
import { mirrorSource } from '../../../src/policy/source/mirror-source.ts'
import { combineSources } from '../../../src/policy/source/policy-source.ts'
import { parseDocuments } from '../parse-documents.ts'

it('two sets of policies have the documents of one source, and follow its changes', async () => {
  let observer: DocumentObserver | undefined
  let opened = 0
  const documents = ['a', 'b'].map((name) => parseDocuments([{ name, namespace: [], rules: [] }]))
  const open: OpenDocumentSource = async (given) => {
    observer = given
    opened += 1
    await given.load(documents[0] ?? [])
    return { close: () => undefined }
  }
  const mirrored = mirrorSource(open)
  const source = await combineSources([mirrored.open])
  const mirror = await combineSources([mirrored.openMirror])
  expect([source.current().size, mirror.current().size, opened]).toEqual([1, 1, 1])

  await observer?.load(documents.flat())
  expect([source.current().size, mirror.current().size]).toEqual([2, 2])
  mirror.close()
  await observer?.load([])
  expect([source.current().size, mirror.current().size]).toEqual([0, 2])
})
