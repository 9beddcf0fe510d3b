import type { Allowed, Decision } from '../policy/decision.ts'
import type { Question, RequestFacts } from '../policy/question.ts'
import type { PolicySet } from '../policy/trie.ts'
import { denied, DeniedError } from './denied-error.ts'
import { readBodyFacts, readHeadFacts, type Members } from './facts/read-facts.ts'
import { requestFacts } from './facts/request-facts.ts'
import { permissionsOfHead, permissionsOfRequest } from './needed-permissions.ts'
import type { DecidedNeed, PermissionNeed } from './needs.ts'
import { runAtOnce, runInSlices, type Steps } from '../lib/async/run-in-slices.ts'
import { grant, settled, type Authenticated, type Permitted, type Settled } from './stages.ts'

/**
 * The stage that asks the policies for everything the head of a request needs. The only one that makes a permitted
 * request. What depends on pending facts is left to `settle`; what no body could get allowed is refused at once. A
 * refusal is returned, DeniedError (403, 404), where other stages throw: to throw one and catch it takes longer than
 * to decide, and nothing is refused as often. Throws InvalidInput (400) for facts that contradict each other.
 */
export function authorize(
  request: Authenticated,
  policies: PolicySet,
  now = new Date(),
): Permitted | DeniedError {
  const facts = requestFacts(request, now)
  const read = readHeadFacts(request)
  const decided: DecidedNeed[] = []
  for (const need of permissionsOfHead(request, read)) {
    const question = questionOf(need, request, facts)
    const decision = policies.foresee(question)
    const result = decision === undefined ? 'undecided' : resultOf(need, decision, question, policies)
    if (result instanceof DeniedError) return result
    decided.push({ need, result })
  }
  return grant(request, { facts, stated: read.stated, decided })
}

/**
 * Decides everything that a request needs, now that its facts are known: `members` are those of its JSON body, if it
 * has one, or the first of them if it is not whole; what the rest may state counts against the caller. What the head
 * decided stays, unless it depends on the time. Throws DeniedError (403, 404), or InvalidInput (400).
 */
export function settle(request: Permitted, body: ReadMembers | undefined, policies: PolicySet): Settled {
  return body === undefined ? settleHead(request, policies) : runAtOnce(settling(request, body, policies))
}

/** The same for a batch: its entries are decided in slices, so that nobody waits for a large one. */
export function settleBatch(request: Permitted, body: ReadMembers, policies: PolicySet): Promise<Settled> {
  return runInSlices(settling(request, body, policies))
}

/** The members of a JSON body that were read, and whether these are all. */
interface ReadMembers {
  readonly members: Members
  readonly isWhole: boolean
}

function settleHead(request: Permitted, policies: PolicySet): Settled {
  const { facts, stated, decided } = request
  const mayDescribe = decided.every(({ need }, index) => describes(need, index, request, facts, policies))
  return settleWith(request, { facts, stated, decided, withholdsDescription: !mayDescribe })
}

function* settling(request: Permitted, body: ReadMembers, policies: PolicySet): Steps<Settled> {
  const facts = requestFacts(request, new Date())
  const read = readBodyFacts(request, body.members, body.isWhole)
  const decided: DecidedNeed[] = []
  let mayDescribe = true
  for (const need of permissionsOfRequest(request, read, body.members)) {
    const before = request.decided.find((one) => isSameNeed(one.need, need))
    const isConclusive =
      before !== undefined && before.result !== 'undecided' && !policies.isTimed(need.permission)
    const result = isConclusive ? before.result : decide(need, request, facts, policies)
    mayDescribe &&= describes(need, decided.length, request, facts, policies)
    decided.push({ need, result })
    yield
  }
  return settleWith(request, { facts, stated: read.stated, decided, withholdsDescription: !mayDescribe })
}

function settleWith(
  request: Permitted,
  found: Pick<Settled, 'facts' | 'stated' | 'decided' | 'withholdsDescription'>,
): Settled {
  return settled(request, {
    ...found,
    withholdsCredentials: found.decided.some(
      ({ need, result }) => need.otherwise === 'withheld' && result === 'left-out',
    ),
  })
}

/**
 * Decides again, when a body has come to its end, what depends on the time. Throws DeniedError (403, 404) if it is not
 * allowed any more.
 */
export function confirm(request: Settled, policies: PolicySet, now = new Date()): void {
  const facts = requestFacts(request, now)
  for (const { need } of request.decided) {
    if (policies.isTimed(need.permission)) decide(need, request, facts, policies)
  }
}

/** Whether anything that was decided depends on the time. */
export function isTimed({ decided }: Settled, policies: PolicySet): boolean {
  return decided.some(({ need }) => policies.isTimed(need.permission))
}

/** The decision that an audit record names; undefined for a batch without entries. */
export function decisionOf({ decided }: Settled): Allowed | undefined {
  for (const { result } of decided) if (typeof result === 'object') return result
  return undefined
}

function decide(
  need: PermissionNeed,
  request: Permitted,
  facts: RequestFacts,
  policies: PolicySet,
): DecidedNeed['result'] {
  const question = questionOf(need, request, facts)
  const decision = need.beneath === true ? policies.decideBeneath(question) : policies.decide(question)
  const result = resultOf(need, decision, question, policies)
  if (result instanceof DeniedError) throw result
  return result
}

function resultOf(
  need: PermissionNeed,
  decision: Decision,
  question: Question,
  policies: PolicySet,
): Allowed | 'left-out' | DeniedError {
  if (decision.allowed) return decision
  if (need.otherwise === 'withheld') return 'left-out'
  if (need.otherwise === 'entries-decide' && decision.reason === 'no_rule') return 'left-out'
  if (need.otherwise === 'what-is-visible' && decision.reason === 'no_rule') {
    const visible = policies.showsBeneath(question)
    if (visible !== undefined) return visible
  }
  return denied(need, decision, question, policies)
}

/**
 * Whether the response may describe what that need is about. It may describe the object of the request, which is that
 * of its first need, or the objects of the entries of a batch.
 */
function describes(
  need: PermissionNeed,
  index: number,
  request: Permitted,
  facts: RequestFacts,
  policies: PolicySet,
): boolean {
  const { operation } = request.meaning
  if (operation.describes.length === 0) return true
  const isObject = operation.entries === undefined ? index === 0 : need.entry !== undefined
  return !isObject || policies.mayDescribe(questionOf(need, request, facts))
}

function questionOf(
  { permission, kind, id, facts }: PermissionNeed,
  { principal }: Authenticated,
  request: RequestFacts,
): Question {
  return { principal, permission, kind, id, request, operation: facts }
}

/** Entries of batches are decided by nothing but their own facts, which no head states. */
function isSameNeed(one: PermissionNeed, other: PermissionNeed): boolean {
  return (
    one.permission === other.permission &&
    one.because === other.because &&
    one.otherwise === other.otherwise &&
    other.entry === undefined
  )
}
