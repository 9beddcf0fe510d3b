import type { OperationName } from '../interface/operations.ts'
import type { Allowed, Decision } from '../policy/decision.ts'
import type { EarlyQuestion, OperationFacts, Question, RequestFacts } from '../policy/question.ts'
import type { PolicySet } from '../policy/trie.ts'
import type { Members } from './body/body-facts.ts'
import { denied, DeniedError } from './denied-error.ts'
import { earlyFacts, entryFacts, requestFacts, wholeFacts } from './facts.ts'
import type { PermissionNeed } from './needs.ts'
import { routeNeeds } from './route-facts.ts'
import { grant, settled, type Authenticated, type Matched, type Permitted, type Settled } from './stages.ts'

/** The operations whose answer may carry storage credentials. */
const vending: ReadonlySet<OperationName> = new Set([
  'DescribeTable',
  'DeclareTable',
  'CreateTable',
  'BatchCommitTables',
])

/**
 * The stage that asks the policies for everything the head of a request needs. The only one that makes a permitted
 * request. What conditions make depend on the body is left to `settle`; what no body could get allowed is refused
 * at once. A refusal is returned, DeniedError (403, 404), where other stages throw: to throw one and catch it takes
 * longer than to decide, and nothing is refused as often.
 */
export function authorize(
  request: Authenticated,
  policies: PolicySet,
  now = new Date(),
): Permitted | DeniedError {
  const found = judgeHead(request, policies, now)
  return found instanceof DeniedError ? found : grant(request, found)
}

/** What the policies say to the head. */
function judgeHead(
  request: Authenticated,
  policies: PolicySet,
  now: Date,
): Pick<Permitted, 'facts' | 'undecided' | 'decision' | 'withholdsCredentials'> | DeniedError {
  const facts = requestFacts(request, now)
  const operation = earlyFacts(request)
  const undecided: PermissionNeed[] = []
  let decision: Allowed | undefined
  let withholdsCredentials = false
  for (const need of headNeeds(request)) {
    const question = questionOf(need, request, facts, operation)
    const foreseen = policies.foresee(question)
    const answer = foreseen && answerOf(need, foreseen, question, policies)
    if (answer instanceof DeniedError) return answer
    if (foreseen === undefined) undecided.push(need)
    if (need.permission === request.meaning.operation.name) decision = answer
    if (need.otherwise === 'withheld') withholdsCredentials = answer === undefined
  }
  return { facts, undecided, decision, withholdsCredentials }
}

/**
 * Decides what the head of the request left undecided, now that the members of its body are known; without a body
 * there are none. Throws DeniedError (403, 404).
 */
export function settle(request: Permitted, members: Members, policies: PolicySet): Settled {
  let { decision, withholdsCredentials } = request
  for (const need of request.undecided) {
    const answer = answerTo(need, request, members, policies)
    if (need.permission === request.meaning.operation.name) decision = answer
    if (need.otherwise === 'withheld') withholdsCredentials = answer === undefined
  }
  return settled(request, { decision, withholdsCredentials })
}

/** Answers the decision that allows what a body needs. Throws DeniedError (403, 404). */
export function demand(
  need: PermissionNeed,
  request: Permitted,
  members: Members,
  policies: PolicySet,
): Allowed {
  const answer = answerTo(need, request, members, policies)
  if (answer === undefined) throw new Error(`${need.permission} can be left out, and so not be demanded`)
  return answer
}

function answerTo(
  need: PermissionNeed,
  request: Permitted,
  members: Members,
  policies: PolicySet,
): Allowed | undefined {
  const operation = need.entry ? entryFacts(need.id, need.entry) : wholeFacts(request, members)
  const question: Question = questionOf(need, request, request.facts, operation)
  const decision = need.beneath === true ? policies.decideBeneath(question) : policies.decide(question)
  const answer = answerOf(need, decision, question, policies)
  if (answer instanceof DeniedError) throw answer
  return answer
}

/** The decision, if it allows; undefined where the need can go without; else the refusal. */
function answerOf(
  need: PermissionNeed,
  decision: Decision,
  question: EarlyQuestion,
  policies: PolicySet,
): Allowed | DeniedError | undefined {
  if (decision.allowed) return decision
  if (need.otherwise === 'withheld') return undefined
  if (need.otherwise === 'entries-decide' && decision.reason === 'no_rule') return undefined
  if (need.otherwise === 'what-is-visible' && decision.reason === 'no_rule') {
    const visible = policies.showsBeneath(question)
    if (visible !== undefined) return visible
  }
  return denied(need, decision, question, policies)
}

function questionOf<Facts extends OperationFacts | undefined>(
  { permission, kind, id }: PermissionNeed,
  { principal }: Authenticated,
  request: RequestFacts,
  operation: Facts,
): EarlyQuestion & { readonly operation: Facts } {
  return { principal, permission, kind, id, request, operation }
}

/** Everything that the head of a request needs, its operation first. */
function headNeeds(request: Matched): readonly PermissionNeed[] {
  const needs = [ownNeed(request), ...routeNeeds(request)]
  const credentials = credentialsNeed(request)
  if (credentials !== undefined) needs.push(credentials)
  return needs
}

/**
 * The operation itself. A batch names no object in its route: it is decided entry by entry. Whoever sees something
 * beneath a namespace finds the way to it: the names on it are listed without a rule that says so.
 */
function ownNeed({ meaning: { operation, id } }: Matched): PermissionNeed {
  const need: PermissionNeed = { permission: operation.name, kind: operation.object, id }
  if (operation.lists !== undefined) return { ...need, otherwise: 'what-is-visible' }
  const isBatch = operation.object === 'none' && operation.effect !== 'read'
  return isBatch ? { ...need, otherwise: 'entries-decide' } : need
}

/** The credentials that the answer may carry without having been asked for. */
function credentialsNeed({ meaning: { operation, id } }: Matched): PermissionNeed | undefined {
  if (!vending.has(operation.name)) return undefined
  return { permission: 'VendCredentials', kind: operation.object, id, otherwise: 'withheld' }
}
