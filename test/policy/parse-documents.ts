import { parsePolicies } from './parse-policies.ts'
import type { PolicyDocument } from '../../src/policy/language/policy-document.ts'
import { formatPolicies, type WrittenPolicy } from './policy-builder.ts'

export function parseDocuments(policies: readonly WrittenPolicy[]): readonly PolicyDocument[] {
  const { documents, problems } = parsePolicies(formatPolicies(policies), 'policies.yaml')
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  return documents
}
