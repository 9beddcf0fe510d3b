import { z } from 'zod'
import { parseIdentifierText, refusal } from '../catalog-api/index.ts'
import { anonymousPrincipal } from '../identity/index.ts'
import { runAtOnce, suggestSimilar } from '../lib/index.ts'
import {
  type AuthorizationRequest,
  collectDocuments,
  compileContents,
  createWrittenRequest,
  decideListing,
  explain,
  type Finding,
  findDocumentProblems,
  formatDisagreements,
  formatProblem,
  lintWithShadowPolicies,
  type LoadedPolicies,
  parsePolicyFile,
  type PolicyDocument,
  PolicyError,
  type PolicyProblem,
  type PolicySet,
  type PolicyVocabulary,
  runTests,
} from '../policy/index.ts'

export const maxTextBytes = 256 * 1024

const trialSchema = z.strictObject({
  /** A policy file. */
  text: z.string().refine((text) => Buffer.byteLength(text) <= maxTextBytes),
  /** The file in force that it replaces; undefined for a further one. */
  file: z.string().max(4096).optional(),
  /** May this caller do that? An empty principal is a caller without a credential. */
  requests: z
    .array(
      z.strictObject({
        principal: z.string().max(2048),
        groups: z.array(z.string().max(2048)).max(100),
        operation: z.string().max(200),
        id: z.string().max(4096),
      }),
    )
    .max(20)
    .default([]),
})

/** A text to try, with requests that it decides. */
export type Trial = z.output<typeof trialSchema>

/** Throws CatalogError for anything but a trial. */
export function parseTrial(sent: unknown): Trial {
  const { data } = trialSchema.safeParse(sent)
  if (data !== undefined) return data
  const what = `a policy text of at most ${maxTextBytes} bytes, and a question about it`
  throw refusal('invalid_request', `expected ${what}`)
}

/** The name of a text that replaces no file. */
const newFile = 'new policy'

const maxFindings = 200

/**
 * Reports the errors in the text, or in other policies because of it, and the findings of the lint about it; if there are no
 * errors, also the results of its tests and the decisions on the requests. Throws CatalogError for an invalid id or an unknown
 * operation.
 */
export function createPlaygroundReport(
  { text, file, requests: sent }: Trial,
  inForce: readonly PolicyDocument[],
  vocabulary: PolicyVocabulary,
) {
  const name = file ?? newFile
  const requests = sent.map((request) => createRequest(request, vocabulary))
  const parsed = parsePolicyFile({ name, bytes: Buffer.from(text) }, vocabulary)
  const rest = { documents: inForce.filter((document) => document.file !== file), tests: [], problems: [] }
  let after: LoadedPolicies
  try {
    const documents = collectDocuments([rest, parsed])
    assertNoNewTagProblems(documents, inForce, name)
    after = compileContents({ documents, tests: parsed.tests })
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    const findings = error.problems.slice(0, maxFindings).map((problem): Finding => {
      const {
        line = 1,
        column,
        message,
      } = problem.file === name ? problem : { message: formatProblem(problem) }
      return { level: 'error', check: 'refused', file: name, line, ...(column && { column }), message }
    })
    return { findings, outcome: undefined }
  }
  const { set: current } = compileContents({ documents: inForce, tests: [] })
  const findings = lintWithShadowPolicies(after).filter((one) => one.file === name)
  return {
    findings: findings.slice(0, maxFindings),
    outcome: {
      decisions: requests.map((request) => createDecision(request, current, after.set)),
      tests: createTestReport(after),
    },
  }
}

function createRequest(
  { principal, groups, operation, id }: Trial['requests'][number],
  { permissions: { names } }: PolicyVocabulary,
): AuthorizationRequest {
  const permission = names.find((name) => name === operation)
  if (permission === undefined)
    throw refusal(
      'invalid_request',
      `unknown operation ${JSON.stringify(operation)}${suggestSimilar(operation, names)}`,
    )
  return createWrittenRequest({
    principal:
      principal === ''
        ? anonymousPrincipal
        : { name: principal, method: 'api-key', groups: new Set(groups), credentialId: '' },
    permission,
    id: parseIdentifierText(id),
    facts: { now: new Date().toISOString() },
  })
}

/** Of the tests in the text, those that failed, and the number of all. */
function createTestReport(after: LoadedPolicies) {
  const failed = runTests(after.tests, after).results.filter(({ passed }) => !passed)
  return {
    count: after.tests.length,
    failed: failed.map((test) => ({
      line: test.line,
      name: test.name,
      text: formatDisagreements(test).join('\n'),
    })),
  }
}

/** With the explanation that `policy explain` prints. */
function createDecision(request: AuthorizationRequest, before: PolicySet, after: PolicySet) {
  const { title, report, lines } = explain(after, request)
  return {
    title,
    before: decideListing(before, request).decision.allowed,
    after: report.decision.allowed,
    explanation: lines.join('\n'),
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
  const known = new Set(runAtOnce(findDocumentProblems(inForce)).map(formatPosition))
  const problems = runAtOnce(findDocumentProblems(documents)).filter(
    (problem) => problem.file === name || !known.has(formatPosition(problem)),
  )
  if (problems.length > 0) throw new PolicyError(problems)
}

function formatPosition(problem: PolicyProblem): string {
  return formatProblem({ ...problem, message: '' })
}
