import { readRecordedCall } from '../../audit/index.ts'
import type { RuleReference } from '../../policy/engine/decision.ts'
import { describeVerdict, explainDecision } from '../../policy/analysis/steps.ts'
import { countCalls, describeReplayedCalls, ReplayTally } from '../../policy/analysis/replay-tally.ts'
import type { Finding } from '../../policy/analysis/lint/finding.ts'
import { lintWithShadowPolicies } from '../../policy/analysis/lint/lint-policies.ts'
import { collectDocuments, findTagProblems } from '../../policy/source/document-problems.ts'
import { createRuleReference } from '../../policy/engine/compiled-rule.ts'
import { permissionFacts } from '../../policy/conditions/permission-facts.ts'
import type { AuthorizationRequest } from '../../policy/conditions/authorization-request.ts'
import { objectKindOfPermission } from '../../policy/engine/object-position.ts'
import type { PolicyDocument, PolicyRule } from '../../policy/language/policy-document.ts'
import { formatProblem, PolicyError, type PolicyProblem } from '../../policy/language/policy-error.ts'
import type { PolicyVocabulary } from '../../policy/language/policy-vocabulary.ts'
import { defaultRequestFacts } from '../../policy/language/read-tests.ts'
import { describeRestriction, type RestrictionReport } from '../../policy/restrictions/restriction.ts'
import { decideListing } from '../../policy/visibility/decide-listing.ts'
import { compileContents, type LoadedPolicies } from '../../policy/source/load-policies.ts'
import { parsePolicyFile } from '../../policy/source/parse-policy-files.ts'
import { parseIdentifierText } from '../../catalog-api/identifier-text.ts'
import { anonymousPrincipal } from '../../identity/index.ts'
import { runAtOnce } from '../../lib/async/run-in-slices.ts'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import { readRecentRecords } from './recent-records.ts'
import type { PlaygroundRun, Question } from './playground-run.ts'

const replayedMs = 60 * 60 * 1000

/** The name of a text that replaces no file. */
const newFile = 'new policy'

const maxFindings = 200
/** Results of calls, those of the most calls first. */
const maxChanged = 100

export interface PlaygroundReport {
  /** Errors in the text, or in other policies because of it, and findings of the lint about it. */
  readonly findings: readonly Pick<Finding, 'level' | 'check' | 'line' | 'column' | 'message'>[]
  /** Undefined if there are errors. */
  readonly outcome: Outcome | undefined
}

interface Outcome {
  /** Undefined without a question. */
  readonly answer: Answer | undefined
  /** Calls of the last hour, as far as the audit log has them. */
  readonly replay: ReturnType<typeof describeReplay> & { readonly isCut: boolean }
}

interface Answer {
  readonly before: boolean
  readonly after: boolean
  /** The rule that decides; undefined if none allows it. */
  readonly rule: RuleReference | undefined
  /** Whether it is a listing that no rule allows itself, and shows what the rule makes visible beneath. */
  readonly isByVisibility: boolean
  /** What leaves the caller a part of the table. */
  readonly restrictedBy: readonly RestrictionReport[]
  readonly rules: readonly (RuleReference &
    Pick<PolicyRule, 'effect'> & { readonly verdict: ReturnType<typeof describeVerdict> })[]
}

/** Throws CatalogError for an invalid id, and QuestionError for an unknown operation. */
export async function createPlaygroundReport(
  { text, file, question, auditFolder }: PlaygroundRun,
  inForce: readonly PolicyDocument[],
  vocabulary: PolicyVocabulary,
): Promise<PlaygroundReport> {
  const name = file ?? newFile
  const request = question && createRequest(question, vocabulary)
  const parsed = parsePolicyFile({ name, bytes: Buffer.from(text) }, vocabulary)
  const rest = { documents: inForce.filter((document) => document.file !== file), tests: [], problems: [] }
  let after: LoadedPolicies
  try {
    const documents = collectDocuments([rest, parsed])
    assertNoNewTagProblems(documents, inForce, name)
    after = compileContents({ documents, tests: parsed.tests })
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    const problems = error.problems.slice(0, maxFindings)
    return { findings: problems.map((problem) => toFinding(problem, name)), outcome: undefined }
  }
  const before = compileContents({ documents: inForce, tests: [] })
  const findings = lintWithShadowPolicies(after).filter((one) => one.file === name)
  const tally = new ReplayTally({ candidate: after.set, current: before.set })
  const since = new Date(Date.now() - replayedMs)
  const isCut = await readRecentRecords(auditFolder, since, (record) => tally.add(readRecordedCall(record)))
  return {
    findings: findings.slice(0, maxFindings).map(({ level, check, line, column, message }) => ({
      level,
      check,
      line,
      ...(column !== undefined && { column }),
      message,
    })),
    outcome: {
      answer: request && createAnswer(request, before, after),
      replay: { ...describeReplay(tally), isCut },
    },
  }
}

export class QuestionError extends Error {}

function createRequest(
  { principal, groups, operation, id }: Question,
  { permissions: { names } }: PolicyVocabulary,
): AuthorizationRequest {
  const permission = names.find((name) => name === operation)
  if (permission === undefined)
    throw new QuestionError(
      `unknown operation ${JSON.stringify(operation)}${suggestSimilar(operation, names)}`,
    )
  const object = parseIdentifierText(id)
  return {
    principal:
      principal === ''
        ? anonymousPrincipal
        : { name: principal, method: 'api-key', groups: new Set(groups), credentialId: '' },
    permission,
    kind: objectKindOfPermission(permission),
    id: object,
    request: { ...defaultRequestFacts, now: new Date() },
    operation: permissionFacts(permission, object, {}),
  }
}

function createAnswer(request: AuthorizationRequest, before: LoadedPolicies, after: LoadedPolicies): Answer {
  const {
    decision: { allowed, rule },
    byVisibility,
  } = decideListing(after.set, request)
  const levels = explainDecision(after.set, request)
  return {
    before: decideListing(before.set, request).decision.allowed,
    after: allowed,
    rule,
    isByVisibility: byVisibility !== undefined,
    restrictedBy: allowed ? (after.set.findRestriction(request)?.parts ?? []).map(describeRestriction) : [],
    rules: levels.flatMap(({ rules }) =>
      rules.map((one) => ({
        ...createRuleReference(one),
        effect: one.rule.effect,
        verdict: describeVerdict(one),
      })),
    ),
  }
}

function describeReplay(tally: ReplayTally) {
  const { calls, unchanged, changed, undecided, restricted } = tally.getResult()
  const shown = changed.toSorted((one, other) => other.count - one.count).slice(0, maxChanged)
  return {
    calls,
    unchanged,
    changed: shown.map(describeReplayedCalls),
    undecided: countCalls(undecided),
    restricted: countCalls(restricted),
  }
}

/**
 * Throws PolicyError with the tag problems of the text, and with those at positions of others that have none in force:
 * resources of a cluster may have some.
 */
function assertNoNewTagProblems(
  documents: readonly PolicyDocument[],
  inForce: readonly PolicyDocument[],
  name: string,
): void {
  const known = new Set(runAtOnce(findTagProblems(inForce)).map(formatPosition))
  const problems = runAtOnce(findTagProblems(documents)).filter(
    (problem) => problem.file === name || !known.has(formatPosition(problem)),
  )
  if (problems.length > 0) throw new PolicyError(problems)
}

function formatPosition(problem: PolicyProblem): string {
  return formatProblem({ ...problem, message: '' })
}

/** A problem of another file is one of the whole text. */
function toFinding(problem: PolicyProblem, name: string): PlaygroundReport['findings'][number] {
  const error = { level: 'error', check: 'refused' } as const
  if (problem.file !== name) return { ...error, line: 1, message: formatProblem(problem) }
  const { line = 1, column, message } = problem
  return { ...error, line, ...(column !== undefined && { column }), message }
}
