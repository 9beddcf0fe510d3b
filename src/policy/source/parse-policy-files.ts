import { createHash } from 'node:crypto'
import { runAtOnce, type Steps } from '../../lib/async/run-in-slices.ts'
import { parsePolicySteps, type ParsedPolicies } from '../language/parse-policies.ts'
import type { PolicyVocabulary } from '../language/policy-vocabulary.ts'

/** A policy file, or the text of a resource. */
export interface PolicyText {
  readonly name: string
  readonly bytes: Uint8Array
}

/** Parses files, but not again what was parsed in the last round. */
export interface FileParser {
  parse(file: PolicyText): Steps<ParsedPolicies>
  endRound(): void
}

export function createFileParser(vocabulary: PolicyVocabulary): FileParser {
  let last: ReadonlyMap<string, ParsedPolicies> = new Map()
  let present = new Map<string, ParsedPolicies>()
  return {
    *parse(file) {
      const key = createKey(file)
      const parsed = last.get(key) ?? (yield* parseFile(file, vocabulary))
      present.set(key, parsed)
      return parsed
    },
    endRound() {
      last = present
      present = new Map()
    },
  }
}

export function parsePolicyFile(file: PolicyText, vocabulary: PolicyVocabulary): ParsedPolicies {
  return runAtOnce(parseFile(file, vocabulary))
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function* parseFile({ name, bytes }: PolicyText, vocabulary: PolicyVocabulary): Steps<ParsedPolicies> {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    return { documents: [], tests: [], problems: [{ file: name, message: 'is not valid UTF-8' }] }
  }
  const parsed = yield* parsePolicySteps(text, name, vocabulary)
  const { documents, tests, problems } = parsed
  if (documents.length + tests.length + problems.length > 0) return parsed
  // A full disk may have emptied it.
  const message = 'has neither a policy nor a test; expected one (without policies, remove the file)'
  return { ...parsed, problems: [{ file: name, message }] }
}

/** Includes the name, because policies and errors refer to it. */
function createKey({ name, bytes }: PolicyText): string {
  return `${name}\0${createHash('sha256').update(bytes).digest('hex')}`
}
