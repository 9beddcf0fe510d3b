import type { StatedFacts } from '../../interface/facts.ts'
import type { Allowed, Decision } from '../../policy/decision.ts'
import type { Question, RequestFacts } from '../../policy/question.ts'
import type { PolicySet } from '../../policy/trie.ts'
import type { Authenticated } from '../context.ts'
import { denied } from '../denied-error.ts'
import { readBodyFacts, readHeadFacts, type Members } from '../facts/read-facts.ts'
import { requestFacts } from '../facts/request-facts.ts'
import { permissionsOfHead, permissionsOfRequest } from '../needed-permissions.ts'
import type { DecidedNeed, PermissionNeed } from '../needs.ts'
import { runAtOnce, runInSlices, type Steps } from '../../lib/async/run-in-slices.ts'

/** What the policies decided about a request. */
interface Decisions {
  /** The policies that decide, about the head and about the body. */
  readonly policies: PolicySet
  /** Facts that do not depend on the operation. */
  readonly facts: RequestFacts
  /** Facts that the request states, as far as it was read. */
  readonly stated: StatedFacts
  /** All required permissions, that of the operation first. */
  readonly decided: readonly DecidedNeed[]
}

/** Proof that the policies allow the head of a request. The class is private, so only this module creates one. */
class HeadPermit implements Decisions {
  readonly policies: PolicySet
  readonly facts: RequestFacts
  readonly stated: StatedFacts
  readonly decided: readonly DecidedNeed[]
  /** Makes the type nominal: no other object is a permit. */
  declare protected readonly isIssued: true

  constructor({ policies, facts, stated, decided }: Decisions) {
    this.policies = policies
    this.facts = facts
    this.stated = stated
    this.decided = decided
  }
}

/** Proof that the policies allow a whole request: no decision is pending. */
class FullPermit extends HeadPermit {
  /** Whether storage credentials must be removed from the response. */
  readonly withholdsCredentials: boolean
  /** Whether the response must not describe the object. */
  readonly withholdsDescription: boolean

  constructor(decisions: Decisions, mayDescribe: boolean) {
    super(decisions)
    this.withholdsCredentials = this.decided.some(
      ({ need, result }) => need.otherwise === 'withheld' && result === 'left-out',
    )
    this.withholdsDescription = !mayDescribe
  }
}

/** Proof that the policies allow the head of a request; only `authorize` issues it. */
type Permit = HeadPermit

/** Proof that the policies allow a whole request; only `authorizeBody` and `authorizeBatch` issue it. */
export type { FullPermit }

/** A request that the policies allow, as far as its head can tell. */
export interface Authorized extends Authenticated {
  readonly permit: Permit
}

/**
 * Stage 4: asks the policies for every permission that the head of a request requires. Decisions that depend on facts
 * of the body stay pending, unless no body could change them. Throws DeniedError (401, 403, 404), or InvalidInput (400)
 * for facts that contradict each other.
 */
export function authorize(request: Authenticated, policies: PolicySet, now = new Date()): Authorized {
  const facts = requestFacts(request.head, now)
  const read = readHeadFacts(request)
  const decided = permissionsOfHead(request, read).map((need): DecidedNeed => {
    const question = questionOf(need, request, facts)
    const decision = policies.foresee(question)
    return {
      need,
      result: decision === undefined ? 'undecided' : resultOf(need, decision, question, policies),
    }
  })
  return { ...request, permit: new HeadPermit({ policies, facts, stated: read.stated, decided }) }
}

/** The members of a JSON body that were read, and whether these are all. */
interface ReadMembers {
  readonly members: Members
  readonly isWhole: boolean
}

/**
 * Decides everything that a request requires, with the facts of its body. If `body` is not whole, facts that the rest
 * may state count against the caller. Decisions about the head stay, unless they depend on the time. Throws DeniedError
 * (401, 403, 404), or InvalidInput (400).
 */
export function authorizeBody(request: Authorized, body: ReadMembers | undefined): FullPermit {
  return body === undefined ? authorizeWithoutBody(request) : runAtOnce(decideBody(request, body))
}

/** Like `authorizeBody`, in slices, so that a large batch does not block other requests. */
export function authorizeBatch(request: Authorized, body: ReadMembers): Promise<FullPermit> {
  return runInSlices(decideBody(request, body))
}

function authorizeWithoutBody(request: Authorized): FullPermit {
  const { permit } = request
  const mayDescribe = permit.decided.every(({ need }, index) => describes(need, index, request, permit))
  return new FullPermit(permit, mayDescribe)
}

function* decideBody(request: Authorized, body: ReadMembers): Steps<FullPermit> {
  const { permit } = request
  const { policies } = permit
  const facts = requestFacts(request.head, new Date())
  const read = readBodyFacts(request, body.members, body.isWhole)
  const decided: DecidedNeed[] = []
  let mayDescribe = true
  for (const need of permissionsOfRequest(request, read, body.members)) {
    const before = permit.decided.find((one) => isSameNeed(one.need, need))
    const isConclusive =
      before !== undefined && before.result !== 'undecided' && !policies.isTimed(need.permission)
    const result = isConclusive ? before.result : decide(need, request, facts, policies)
    mayDescribe &&= describes(need, decided.length, request, { facts, policies })
    decided.push({ need, result })
    yield
  }
  return new FullPermit({ policies, facts, stated: read.stated, decided }, mayDescribe)
}

/** Decides again at the end of a body what depends on the time. Throws DeniedError if it is not allowed any more. */
export function reauthorize(request: Authorized, { policies, decided }: FullPermit, now = new Date()): void {
  const facts = requestFacts(request.head, now)
  for (const { need } of decided) {
    if (policies.isTimed(need.permission)) decide(need, request, facts, policies)
  }
}

/** Whether any decision depends on the time. */
export function isTimed({ policies, decided }: FullPermit): boolean {
  return decided.some(({ need }) => policies.isTimed(need.permission))
}

/** The decision that an audit record names; undefined for a batch without entries. */
export function decisionOf({ decided }: FullPermit): Allowed | undefined {
  for (const { result } of decided) if (typeof result === 'object') return result
  return undefined
}

function decide(
  need: PermissionNeed,
  request: Authorized,
  facts: RequestFacts,
  policies: PolicySet,
): DecidedNeed['result'] {
  const question = questionOf(need, request, facts)
  const decision = need.beneath === true ? policies.decideBeneath(question) : policies.decide(question)
  return resultOf(need, decision, question, policies)
}

/** Throws DeniedError, unless the request goes on without the permission. */
function resultOf(
  need: PermissionNeed,
  decision: Decision,
  question: Question,
  policies: PolicySet,
): Allowed | 'left-out' {
  if (decision.allowed) return decision
  if (need.otherwise === 'withheld') return 'left-out'
  if (need.otherwise === 'entries-decide' && decision.reason === 'no_rule') return 'left-out'
  if (need.otherwise === 'what-is-visible' && decision.reason === 'no_rule') {
    const visible = policies.showsBeneath(question)
    if (visible !== undefined) return visible
  }
  throw denied(need, decision, question, policies)
}

/** Whether the response may describe the object of `need`, if that is an object of the request or of an entry. */
function describes(
  need: PermissionNeed,
  index: number,
  request: Authenticated,
  { facts, policies }: Pick<Decisions, 'facts' | 'policies'>,
): boolean {
  const { operation } = request.route
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
