import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { createExtraOperations, listCommonSeparators } from '../../catalog-api/index.ts'
import type { GatewaySettings } from '../../config/index.ts'
import { runAtOnce, type Steps } from '../../lib/index.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
import type { ReportConditionFailure } from '../engine/compiled-rule.ts'
import type { Decision } from '../engine/decision.ts'
import { readsPart } from '../engine/object-position.ts'
import { parsePolicySteps, type ParsedPolicies } from '../language/parse-policies.ts'
import { type PolicyDocument, PolicyError } from '../language/policy-document.ts'
import {
  builtInVocabulary,
  createPolicyVocabulary,
  type PolicyVocabulary,
} from '../language/policy-vocabulary.ts'
import { compileSteps, type PolicySet } from '../policy-set.ts'
import { isSameRestriction } from '../restrictions/restriction.ts'
import { assertDocuments, collectDocuments } from './document-problems.ts'
import { namePolicyFolders, readPolicyFolder, type PolicyText } from './policy-folder.ts'

export function createSettingsVocabulary({
  upstreams,
  unsafe,
}: Pick<GatewaySettings, 'upstreams' | 'unsafe'>): PolicyVocabulary {
  return createPolicyVocabulary({
    extraOperations: createExtraOperations(upstreams),
    acceptsDevelopment: unsafe.includes('development-policies'),
    separators: listCommonSeparators(upstreams.map(({ delimiter }) => delimiter)),
  })
}

/**
 * Returns a function that parses texts in steps, but not again those that its last call parsed. A call must follow the end
 * of the last.
 */
export function createTextParser(
  vocabulary: PolicyVocabulary,
): (texts: readonly PolicyText[]) => Steps<readonly ParsedPolicies[]> {
  let last: ReadonlyMap<string, ParsedPolicies> = new Map()
  return function* (texts) {
    const results: [key: string, ParsedPolicies][] = []
    for (const text of texts) {
      // With the name, because policies and errors refer to it.
      const key = `${text.name}\0${createHash('sha256').update(text.bytes).digest('hex')}`
      results.push([key, last.get(key) ?? (yield* parseText(text, vocabulary))])
      yield
    }
    last = new Map(results)
    return results.map(([, parsed]) => parsed)
  }
}

export function parsePolicyFile(file: PolicyText, vocabulary: PolicyVocabulary): ParsedPolicies {
  return runAtOnce(parseText(file, vocabulary))
}

function* parseText({ name, bytes }: PolicyText, vocabulary: PolicyVocabulary): Steps<ParsedPolicies> {
  if (!isUtf8(bytes)) return createUnreadable([{ file: name, message: 'is not valid UTF-8' }])
  const parsed = yield* parsePolicySteps(new TextDecoder().decode(bytes), name, vocabulary)
  const { documents, tests, problems } = parsed
  if (documents.length + tests.length + problems.length > 0) return parsed
  // A full disk may have emptied it.
  const message = 'has neither a policy nor a test; expected one (without policies, remove the file)'
  return createUnreadable([{ file: name, message }])
}

function createUnreadable(problems: ParsedPolicies['problems']): ParsedPolicies {
  return { documents: [], tests: [], problems }
}

/** The policies of one or several sources, those with `mode: shadow` included, not compiled yet. */
export type PolicyContents = Omit<ParsedPolicies, 'problems'>

export interface LoadedPolicies extends Pick<PolicyContents, 'tests'> {
  /** In force: without policies with `mode: shadow`. */
  readonly set: PolicySet
  /** With policies with `mode: shadow` in force too. */
  readonly withShadowPolicies: PolicySet
}

/** Compiles documents with unique names. */
export function* compileDocuments(
  documents: readonly PolicyDocument[],
  onConditionFailure?: ReportConditionFailure,
): Steps<Omit<LoadedPolicies, 'tests'>> {
  const enforced = documents.filter(({ isShadow }) => !isShadow)
  const set = yield* compileSteps(enforced, onConditionFailure)
  const hasShadows = enforced.length < documents.length
  return { set, withShadowPolicies: hasShadows ? yield* compileSteps(documents) : set }
}

export function compileContents({ documents, tests }: PolicyContents): LoadedPolicies {
  return { tests, ...runAtOnce(compileDocuments(documents)) }
}

/** Loads the policies of folders, which are one tree, with their tests. Throws PolicyError with every error in every file. */
export async function loadPolicies(
  folders: readonly string[],
  vocabulary = builtInVocabulary,
): Promise<LoadedPolicies> {
  const files: ParsedPolicies[] = []
  for (const folder of namePolicyFolders(folders)) {
    try {
      const texts = await readPolicyFolder(folder)
      files.push(...texts.map((text) => parsePolicyFile(text, vocabulary)))
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error
      files.push(createUnreadable(error.problems))
    }
  }
  const documents = collectDocuments(files)
  runAtOnce(assertDocuments(documents))
  return compileContents({ documents, tests: files.flatMap(({ tests }) => tests) })
}

export interface ShadowDifference {
  readonly request: AuthorizationRequest
  readonly live: Decision
  /** Undefined if the candidate depends on a body that the live policies did not need. */
  readonly candidate: Decision | undefined
}

/** Decides like `live` and compares each decision with `candidate`, if needed after the body has been read. */
export function withShadow(
  live: PolicySet,
  candidate: PolicySet,
  reportDifference: (difference: ShadowDifference) => void,
): PolicySet {
  function compare(request: AuthorizationRequest, decision: Decision, alternative?: Decision): Decision {
    if (alternative?.allowed !== decision.allowed)
      reportDifference({ request, live: decision, candidate: alternative })
    return decision
  }

  return Object.freeze({
    ...live,
    decide: (request) => compare(request, live.decide(request), candidate.decide(request)),
    decideBeneath: (request) =>
      compare(request, live.decideBeneath(request), candidate.decideBeneath(request)),
    decidePartially(request) {
      const decision = live.decidePartially(request)
      return decision && compare(request, decision, candidate.decidePartially(request))
    },
    findShadowRestriction(request) {
      if (!readsPart(request.permission)) return undefined
      const restriction = candidate.findRestriction(request)
      return isSameRestriction(live.findRestriction(request), restriction) ? undefined : restriction
    },
  } satisfies PolicySet)
}
