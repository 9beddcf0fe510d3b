import { runAtOnce } from '../../src/lib/async/run-in-slices.ts'
import { parsePolicySteps, type ParsedPolicies } from '../../src/policy/language/parse-policies.ts'
import { builtInVocabulary } from '../../src/policy/language/policy-vocabulary.ts'

/** Parses a text at once. */
export function parsePolicies(text: string, file: string, vocabulary = builtInVocabulary): ParsedPolicies {
  return runAtOnce(parsePolicySteps(text, file, vocabulary))
}
