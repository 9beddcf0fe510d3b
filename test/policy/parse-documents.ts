import { parsePolicies } from '../../src/policy/language/parse-policies.ts'
import type { PolicyDocument } from '../../src/policy/language/policy-document.ts'
import { formatPolicies, type WrittenPolicy } from './policy-builder.ts'

/** Parses the policies as if they were in one file. */
export function parseDocuments(policies: readonly WrittenPolicy[]): readonly PolicyDocument[] {
  const { documents, problems } = parsePolicies(formatPolicies(policies), 'policies.yaml')
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  return documents
}
