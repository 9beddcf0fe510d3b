import type { PolicyDocument } from '../language/policy-document.ts'
import type { DocumentObserver, OpenDocumentSource } from './document-source.ts'

interface MirroredSource {
  readonly open: OpenDocumentSource
  /** A source with the same documents. Opens after `open`. */
  readonly openMirror: OpenDocumentSource
}

/** Lets two sets of policies share a source that is watched once. */
export function mirrorSource(open: OpenDocumentSource): MirroredSource {
  let current: readonly PolicyDocument[] = []
  let mirror: DocumentObserver | undefined
  return {
    open: (observer) =>
      open({
        async load(documents, isForced) {
          await observer.load(documents, isForced)
          current = documents
          await mirror?.load(documents, isForced)
        },
        fail: (error) => observer.fail(error),
      }),
    async openMirror(observer) {
      mirror = observer
      await observer.load(current)
      return {
        close() {
          mirror = undefined
        },
      }
    },
  }
}
