import type { VocabularyOptions } from '../../policy/language/policy-vocabulary.ts'
import type { TransferableDocument } from './transferable-document.ts'

/** A question to policies: may this caller do that? */
export interface Question {
  /** Empty for a caller without a credential. */
  readonly principal: string
  readonly groups: readonly string[]
  readonly operation: string
  /** As commands read it. */
  readonly id: string
}

export interface PlaygroundRun {
  /** A policy file. */
  readonly text: string
  /** The file in force that it replaces; undefined for a further one. */
  readonly file: string | undefined
  readonly question: Question | undefined
  readonly auditFolder: string
  readonly vocabulary: VocabularyOptions
}

/** What the thread receives: all documents in force, in batches, then the run. */
export type PlaygroundMessage = readonly TransferableDocument[] | PlaygroundRun
