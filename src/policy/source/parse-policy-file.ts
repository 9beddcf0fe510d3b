import { parsePolicies, type ParsedPolicies } from '../language/parse-policies.ts'
import type { PolicyVocabulary } from '../language/policy-vocabulary.ts'
import type { PolicyText } from './policy-location.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

export function parsePolicyFile({ name, bytes }: PolicyText, vocabulary: PolicyVocabulary): ParsedPolicies {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    return { documents: [], tests: [], problems: [{ file: name, message: 'is not valid UTF-8' }] }
  }
  return parsePolicies(text, name, vocabulary)
}
