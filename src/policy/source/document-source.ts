import type { PolicyDocument } from '../language/policy-document.ts'
import type { PolicyError } from '../language/policy-error.ts'

/**
 * Opens a source of policy documents: a folder, a bundle, a Kubernetes cluster. A source watches its documents until it
 * is closed, and calls `observer.load` at least once before the promise resolves. Throws PolicyError if the first read
 * fails. Names of documents must differ from those of all other sources.
 */
export type OpenDocumentSource = (observer: DocumentObserver) => Promise<DocumentSource>

export interface DocumentSource {
  close(): void
}

/** Receives what a source reads. Each source has its own, so an error in one source holds back no other. */
export interface DocumentObserver {
  /**
   * Replaces all documents of the source, those with `mode: shadow` included. Resolves when they are in force; rejects
   * if they cannot be compiled, and then the previous ones stay. `isForced` reports even an unchanged set as reloaded.
   */
  load(documents: readonly PolicyDocument[], isForced?: boolean): Promise<void>
  /** The documents cannot be read; the previous ones stay in force. */
  fail(error: PolicyError): void
}
