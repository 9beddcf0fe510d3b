import type { PolicyDocument } from '../../policy/language/policy-document.ts'

/** Receives the policies in force. */
export interface PoliciesFollower {
  loaded(documents: readonly PolicyDocument[]): void
  /** A change could not be loaded. */
  failed(): void
}
