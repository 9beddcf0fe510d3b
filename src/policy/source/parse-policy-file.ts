import { parsePolicies, type ParsedPolicies } from '../language/parse-policies.ts'
import type { PolicyVocabulary } from '../language/policy-vocabulary.ts'
import type { PolicyText } from './policy-location.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** A file on its own must be complete: the denies of one that a full disk has emptied or cut must not vanish. */
export function parsePolicyFile(
  { name, bytes, inode, isLinked = false }: PolicyText,
  vocabulary: PolicyVocabulary,
): ParsedPolicies {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    return { documents: [], tests: [], problems: [{ file: name, message: 'is not valid UTF-8' }] }
  }
  const parsed = parsePolicies(text, name, vocabulary)
  if (inode === undefined || parsed.problems.length > 0) return parsed
  const message = findIncompleteness(text, isLinked, parsed)
  return message === undefined ? parsed : { ...parsed, problems: [{ file: name, message }] }
}

function findIncompleteness(
  text: string,
  isLinked: boolean,
  { documents, tests }: ParsedPolicies,
): string | undefined {
  if (documents.length === 0 && tests.length === 0)
    return 'has neither a policy nor a test, so it may be cut; expected one (without policies, remove the file)'
  // JSON has its own end.
  if (!isLinked && !/[\n}]$/.test(text)) return 'has no line break at the end, so it may be cut; expected one'
  return undefined
}
