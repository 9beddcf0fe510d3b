import { nothingImplied } from '../../language/deny-coverage.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'
import { everyone } from '../../language/read-subjects.ts'

/** A policy that denies everything to everybody, whatever others allow. */
export function createDenyAllPolicy(name: string, vocabulary: PolicyVocabulary): PolicyDocument {
  return {
    name,
    instance: undefined,
    isShadow: false,
    namespace: [],
    inherit: true,
    final: new Set(),
    onDeny: undefined,
    contact: undefined,
    tags: undefined,
    accepted: [],
    rules: [
      {
        id: 'all',
        effect: 'deny',
        subjects: everyone,
        permissions: new Set(vocabulary.permissions.names),
        implied: nothingImplied,
        tables: undefined,
        condition: undefined,
        line: 1,
        column: 1,
      },
    ],
    file: name,
    line: 1,
    column: 1,
  }
}
