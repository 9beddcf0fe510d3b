import { stringify } from 'yaml'
import { isDelegated, isWithin, type Permission } from '../../../catalog-api/index.ts'
import type { DelegatedNamespace, PolicyNamespace } from '../../../config/index.ts'
import { getMembers, runInSlices, type Steps } from '../../../lib/index.ts'
import type { KubernetesObject } from '../../../kubernetes/index.ts'
import {
  policyKind,
  policyResourceName,
  resourceApiVersion,
  type PolicyDocument,
  type PolicyRule,
} from '../../language/policy-document.ts'
import { parsePolicySteps, type ParsedPolicies } from '../../language/parse-policies.ts'
import { mergeByPolicy } from '../../language/for-each.ts'
import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'
import type { PolicyContents } from '../load-policies.ts'

export interface NamespaceContent {
  readonly resources: readonly KubernetesObject[]
  /** Its own uid; any value if the settings name none. */
  readonly uid: unknown
}

/**
 * The result for a resource. It has the documents to apply: the policy if it is accepted, with `forEach` a document for
 * each value; the restrictions of an invalid policy of the platform.
 */
export interface Review extends PolicyContents {
  readonly resource: KubernetesObject
  readonly reason: 'Accepted' | RefusalReason
  /** In words for the writer of the resource. Shows nothing of other Kubernetes namespaces. */
  readonly message: string
}

type RefusalReason = 'Invalid' | 'NotDelegated' | 'QuotaExceeded' | 'NamespaceReplaced' | 'Terminating'

/** Limits of each delegated Kubernetes namespace, so that none slows down a gateway. */
const maxPolicies = 100
const maxPolicyBytes = 65_536
const maxConditions = 100
/** Far above that of any policy. */
const maxDepth = 50

/**
 * Returns a function that reviews all resources of a Kubernetes namespace, oldest first. A call must follow the end of the last;
 * unchanged resources are not parsed again. The reviews depend on the resources alone, so all gateways agree.
 */
export function createReviewer(namespace: PolicyNamespace, vocabulary: PolicyVocabulary) {
  const limits = namespace.platform
    ? undefined
    : { ...namespace, permissions: listDelegatedPermissions(vocabulary, namespace.additionalPermissions) }
  /** The policies that the last call parsed. */
  let known: ReadonlyMap<string, ParsedPolicies> = new Map()

  function* reviewAll({ resources, uid: found }: NamespaceContent): Steps<readonly Review[]> {
    const isReplaced = namespace.uid !== undefined && found !== namespace.uid
    const present = new Map<string, ParsedPolicies>()
    const reviews: Review[] = []
    let policies = 0
    let conditions = 0
    for (const resource of resources.toSorted((one, other) => (getAge(one) < getAge(other) ? -1 : 1))) {
      let review = refuse(namespace, isReplaced, resource, policies)
      policies += review === undefined ? countPolicies(resource) : 1
      if (review === undefined) {
        const { name, uid, generation } = resource.metadata
        const key = `${name} ${uid} ${generation}`
        const parsed = known.get(key) ?? (yield* parseResource(resource, vocabulary))
        present.set(key, parsed)
        review = reviewParsed(resource, parsed, limits)
        const count = countConditions(review)
        if (limits === undefined || conditions + count <= maxConditions) conditions += count
        else {
          const found = `older policies have ${conditions} conditions and this one ${count}`
          const message = `${found}; expected at most ${maxConditions} together`
          review = createRefusal(resource, 'QuotaExceeded', message)
        }
      }
      reviews.push(review)
      yield
    }
    known = present
    return reviews
  }

  return (content: NamespaceContent) => runInSlices(reviewAll(content))
}

/** Returns the documents to apply, by name, so that the first rule that applies is the same in all gateways and commands. */
export function listDocuments(reviews: readonly Review[]): readonly PolicyDocument[] {
  return reviews
    .flatMap(({ documents }) => documents)
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

function getAge({ metadata }: KubernetesObject): string {
  return `${String(metadata['creationTimestamp'])} ${metadata.name}`
}

function countConditions({ documents }: Review): number {
  return documents.flatMap(({ rules }) => rules).filter(({ condition }) => condition !== undefined).length
}

function createRefusal(resource: KubernetesObject, reason: RefusalReason, message: string): Review {
  return { resource, reason, message, documents: [], tests: [] }
}

function refuse(
  { platform, name }: PolicyNamespace,
  isReplaced: boolean,
  resource: KubernetesObject,
  olderCount: number,
): Review | undefined {
  if (isReplaced) {
    const message = `the Kubernetes namespace ${name} was created again: its uid is not that in the settings of the gateway`
    return createRefusal(resource, 'NamespaceReplaced', message)
  }
  if (isTerminating(resource))
    return createRefusal(resource, 'Terminating', 'the policy is being deleted and is not in force')
  if (isDeeper(getWrittenContent(resource), maxDepth))
    return createRefusal(resource, 'Invalid', `nested deeper than ${maxDepth} levels`)
  const message = platform ? undefined : findExceededQuota(resource, olderCount)
  return message === undefined ? undefined : createRefusal(resource, 'QuotaExceeded', message)
}

/** Whether the resource has been deleted and only finalizers keep it. */
export function isTerminating({ metadata }: KubernetesObject): boolean {
  return metadata.deletionTimestamp !== undefined
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((member) => isDeeper(member, depth - 1))
}

function findExceededQuota(resource: KubernetesObject, olderCount: number): string | undefined {
  const policies = countPolicies(resource)
  if (olderCount + policies > maxPolicies)
    return `older policies are ${olderCount}, and this one counts as ${policies}; expected at most ${maxPolicies} together`
  // At most, with a value in place of a variable: every brace may begin one.
  const text = JSON.stringify(getWrittenContent(resource))
  const lengths = listValues(resource).map((value) => (typeof value === 'string' ? value.length : 0))
  const bytes = Buffer.byteLength(text) + (text.split('{').length - 1) * Math.max(0, ...lengths)
  if (bytes <= maxPolicyBytes) return undefined
  return `the policy has ${bytes} bytes as JSON; expected at most ${maxPolicyBytes}`
}

/** With `forEach`, a resource is one policy for each value. */
function countPolicies(resource: KubernetesObject): number {
  return Math.max(1, listValues(resource).length)
}

/** The values of `forEach`, valid or not. */
function listValues(resource: KubernetesObject): readonly unknown[] {
  return Object.values(getMembers(resource['forEach'])).flat()
}

/** Reviews a parsed resource: of the platform if `limits` is undefined, otherwise of a delegated Kubernetes namespace. */
function reviewParsed(
  resource: KubernetesObject,
  { documents, tests, problems }: ParsedPolicies,
  limits: DelegationLimits | undefined,
): Review {
  const [document] = documents
  if (document === undefined || problems.length > 0) {
    const refusal = createRefusal(resource, 'Invalid', joinMessages(problems.map(({ message }) => message)))
    return limits === undefined ? { ...refusal, documents: documents.map(retainRestrictions) } : refusal
  }
  const violations = documents.flatMap((one) =>
    limits === undefined
      ? []
      : Array.from(findViolations(one, limits), (message) => ({ message, policy: one.name })),
  )
  const merged = mergeByPolicy(violations, documents).map(({ message }) => message)
  if (merged.length > 0) return createRefusal(resource, 'NotDelegated', joinMessages(merged))
  return {
    resource,
    reason: 'Accepted',
    message: document.isShadow ? 'the policy is evaluated as shadow' : 'the policy is in force',
    documents,
    tests,
  }
}

/**
 * An error must not lift a restriction: all of these that could be read stay. A deny whose condition cannot be read
 * applies without it, and the tags of the namespace and beneath are unknown.
 */
function retainRestrictions(document: PolicyDocument): PolicyDocument {
  const { tags, rules } = document
  return {
    ...document,
    tags: tags && { ...tags, namespace: 'unknown' },
    rules: rules.filter(({ effect }) => effect === 'deny'),
  }
}

interface DelegationLimits extends Pick<DelegatedNamespace, 'catalogNamespaces' | 'subjects'> {
  /** The permissions that the policies may allow. */
  readonly permissions: ReadonlySet<Permission>
}

/**
 * Lists the permissions that delegated policies may allow: those that the operations table delegates, and additional
 * ones. Extra operations are only included if they are named.
 */
export function listDelegatedPermissions(
  { permissions: { names } }: PolicyVocabulary,
  additionalPermissions: readonly string[],
): ReadonlySet<Permission> {
  return new Set(names.filter((name) => isDelegated(name) || additionalPermissions.includes(name)))
}

const onlyGrants = 'delegated policies only grant; the platform restricts'

/**
 * Yields why a delegated policy is refused: each thing that its delegation does not cover, by field. Delegated policies
 * only grant, so they cannot bind rules of others.
 */
function* findViolations(
  { namespace, inherit, final, onDeny, tags, rules }: PolicyDocument,
  limits: DelegationLimits,
): Generator<string> {
  const { catalogNamespaces } = limits
  const scopes = catalogNamespaces.map((scope) => JSON.stringify(scope)).join(', ')
  if (!catalogNamespaces.some((scope) => isWithin(namespace, scope)))
    yield `namespace: ${JSON.stringify(namespace)} is not delegated; expected it in ${scopes}`
  if (!inherit) yield `inherit: false: ${onlyGrants}`
  if (final.size > 0) yield `final: ${onlyGrants}`
  if (onDeny !== undefined) yield `onDeny: ${onlyGrants}`
  if (tags !== undefined) yield `tags: ${onlyGrants}`
  for (const [index, rule] of rules.entries())
    for (const violation of findRuleViolations(rule, limits)) yield `rules[${index}].${violation}`
}

/** Exceptions of the subjects only narrow a grant, so they may name anybody. Commit requirements are deny rules. */
function* findRuleViolations(
  { effect, subjects, permissions }: PolicyRule,
  { subjects: delegated, permissions: allowed }: DelegationLimits,
): Generator<string> {
  if (effect === 'deny') {
    yield `effect: ${onlyGrants}`
    return
  }
  const isOfIssuer = (name: string): boolean =>
    delegated.issuers.some((issuer) => name.startsWith(`${issuer}:`))
  for (const field of ['users', 'groups', 'keys'] as const)
    for (const name of subjects[field])
      if (!delegated[field].includes(name) && (field === 'keys' || !isOfIssuer(name)))
        yield `subjects.${field}: ${JSON.stringify(name)} is not delegated`
  for (const field of ['any', 'anonymous'] as const)
    if (subjects[field] && !delegated[field]) yield `subjects.${field}: is not delegated; expected names`
  const outside = [...permissions].filter((permission) => !allowed.has(permission))
  if (outside.length > 0) yield `operations: not delegated: ${outside.join(', ')}`
}

const maxLength = 4_000

/** One message a line. Limited, because they go to logs and statuses, and quote input. */
function joinMessages(messages: readonly string[]): string {
  const text = messages.join('\n')
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text
}

export function fileOfResource({ metadata: { namespace, name } }: KubernetesObject): string {
  return `${policyResourceName}/${namespace}/${name}`
}

/** Returns a resource as its writer wrote it, without additions of the API server and gateways. */
function getWrittenContent(resource: KubernetesObject): Readonly<Record<string, unknown>> {
  const { status: _status, metadata, ...content } = resource
  const { managedFields: _managedFields, ...written } = metadata
  return { ...content, apiVersion: resourceApiVersion, kind: policyKind, metadata: written }
}

/** Parses a resource as `kubectl get --output yaml` formats it, so that lines and columns in errors are those shown there. */
function parseResource(resource: KubernetesObject, vocabulary: PolicyVocabulary): Steps<ParsedPolicies> {
  const text = stringify(getWrittenContent(resource), {
    aliasDuplicateObjects: false,
    indentSeq: false,
    lineWidth: 0,
    sortMapEntries: true,
  })
  return parsePolicySteps(text, fileOfResource(resource), vocabulary)
}
