import type { PolicyNamespace } from '../../../config/index.ts'
import { runInSlices, type Steps } from '../../../lib/async/run-in-slices.ts'
import { getMembers } from '../../../lib/json/json-values.ts'
import type { KubernetesObject } from '../../../lib/kubernetes/kubernetes-client.ts'
import { unknown } from '../../conditions/fact.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import type { PolicyProblem } from '../../language/policy-error.ts'
import type { ParsedPolicies } from '../../language/parse-policies.ts'
import { describeEach } from '../../language/policy-instance.ts'
import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'
import { createFileParser, type FileParser } from '../parse-policy-files.ts'
import { findDelegationViolations, listDelegatedPermissions, type DelegationLimits } from './delegation.ts'
import { fileOfResource, formatResource, getWrittenContent, qualifyName } from './resource-text.ts'

/** Resources of a Kubernetes namespace. */
export interface NamespaceContent {
  readonly namespace: PolicyNamespace
  readonly resources: readonly KubernetesObject[]
  /** Whether it is another Kubernetes namespace than the settings name. */
  readonly isReplaced: boolean
}

/** Why a resource is accepted or refused. */
export type ReviewReason =
  | 'Accepted'
  | 'Invalid'
  | 'NotDelegated'
  | 'QuotaExceeded'
  | 'NamespaceReplaced'
  | 'Terminating'

/** What becomes of a resource. */
export interface Review {
  readonly resource: KubernetesObject
  readonly reason: ReviewReason
  /** In words for the writer of the resource. Shows nothing of other Kubernetes namespaces. */
  readonly message: string
  /**
   * What counts: the policy if it is accepted, with `forEach` a document for each value; the restrictions of an invalid
   * policy of the platform.
   */
  readonly documents?: readonly PolicyDocument[]
}

/** Reviews all resources of all Kubernetes namespaces. A call must follow the end of the last. */
export type ReviewResources = (contents: readonly NamespaceContent[]) => Promise<readonly Review[]>

/** Limits of each delegated Kubernetes namespace, so that none slows down a gateway. */
const maxPolicies = 100
const maxPolicyBytes = 65_536
const maxConditions = 100
/** Far above that of any policy. */
const maxDepth = 50

/** Unchanged resources are not parsed again. The reviews depend on the resources alone, so all gateways agree. */
export function createReviewer(vocabulary: PolicyVocabulary): ReviewResources {
  const parser = createFileParser(vocabulary)
  return async (contents) => {
    const reviews: (readonly Review[])[] = []
    for (const content of contents)
      reviews.push(await runInSlices(reviewNamespace(content, parser, vocabulary)))
    parser.endRound()
    return reviews.flat()
  }
}

/** Reviews the resources of a Kubernetes namespace, oldest first. */
function* reviewNamespace(
  content: NamespaceContent,
  parser: FileParser,
  vocabulary: PolicyVocabulary,
): Steps<readonly Review[]> {
  const { namespace, resources } = content
  const limits = namespace.platform
    ? undefined
    : { ...namespace, permissions: listDelegatedPermissions(vocabulary, namespace.additionalPermissions) }
  const reviews: Review[] = []
  let policies = 0
  let conditions = 0
  for (const resource of resources.toSorted(byAge)) {
    const refusal = refuse(content, resource, policies)
    policies += refusal === undefined ? Math.max(1, listValues(resource).length) : 1
    const review = refusal ?? reviewResource(resource, yield* parser.parse(formatResource(resource)), limits)
    const count = countConditions(review)
    if (limits !== undefined && conditions + count > maxConditions) {
      const message = `older policies have ${conditions} conditions and this one ${count}; expected at most ${maxConditions} together`
      reviews.push({ resource, reason: 'QuotaExceeded', message })
    } else {
      conditions += count
      reviews.push(review)
    }
    yield
  }
  return reviews
}

/** Returns what counts, in the order of names, so that the first rule that applies is the same in all gateways and commands. */
export function listDocuments(reviews: readonly Review[]): readonly PolicyDocument[] {
  return reviews
    .flatMap(({ documents }) => documents ?? [])
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

/** Lists why resources are refused. */
export function listRefusals(reviews: readonly Review[]): readonly PolicyProblem[] {
  return reviews
    .filter(({ reason }) => reason !== 'Accepted')
    .flatMap(({ resource, message }) =>
      message.split('\n').map((line) => ({ file: fileOfResource(resource), message: line })),
    )
}

/** Whether the resource has been deleted and only finalizers keep it. */
export function isTerminating({ metadata }: KubernetesObject): boolean {
  return metadata.deletionTimestamp !== undefined
}

/** Refuses what counts for nothing, or would cost too much to parse. */
function refuse(
  { namespace, isReplaced }: NamespaceContent,
  resource: KubernetesObject,
  olderCount: number,
): Review | undefined {
  if (isReplaced) {
    const message = `the Kubernetes namespace ${namespace.name} was created again: its uid is not that in the settings of the gateway`
    return { resource, reason: 'NamespaceReplaced', message }
  }
  if (isTerminating(resource)) {
    return { resource, reason: 'Terminating', message: 'the policy is being deleted and is not in force' }
  }
  if (isDeeper(getWrittenContent(resource), maxDepth))
    return { resource, reason: 'Invalid', message: `nested deeper than ${maxDepth} levels` }
  if (namespace.platform) return undefined
  const refuseQuota = (message: string): Review => ({ resource, reason: 'QuotaExceeded', message })
  if (olderCount >= maxPolicies)
    return refuseQuota(`${maxPolicies} older policies are in this Kubernetes namespace, and no more may be`)
  const values = listValues(resource)
  if (olderCount + values.length > maxPolicies) {
    const found = `forEach has ${values.length} values, each a policy, and ${olderCount} policies are older`
    return refuseQuota(`${found}; expected at most ${maxPolicies} together`)
  }
  const bytes = measureLargest(resource, values)
  if (bytes > maxPolicyBytes)
    return refuseQuota(`the policy has ${bytes} bytes as JSON; expected at most ${maxPolicyBytes}`)
  return undefined
}

/** The values of `forEach`, valid or not: the resource is one policy for each of them. */
function listValues(resource: KubernetesObject): readonly unknown[] {
  return Object.values(getMembers(resource['forEach'])).flat()
}

/** Returns the bytes of a resource as JSON, at most, with a value in place of a variable: every brace may begin one. */
function measureLargest(resource: KubernetesObject, values: readonly unknown[]): number {
  const text = JSON.stringify(getWrittenContent(resource))
  const longest = Math.max(0, ...values.map((value) => (typeof value === 'string' ? value.length : 0)))
  return Buffer.byteLength(text) + (text.split('{').length - 1) * longest
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((member) => isDeeper(member, depth - 1))
}

function byAge(one: KubernetesObject, other: KubernetesObject): number {
  const [left, right] = [ageKey(one), ageKey(other)]
  return left < right ? -1 : left > right ? 1 : 0
}

/** Times of the API server have a fixed format in UTC and a resolution of a second. */
function ageKey({ metadata }: KubernetesObject): string {
  return `${String(metadata['creationTimestamp'])} ${metadata.name}`
}

function countConditions({ documents = [] }: Review): number {
  return documents.flatMap(({ rules }) => rules).filter(({ condition }) => condition !== undefined).length
}

/** Reviews a parsed resource: of the platform if `limits` is undefined, otherwise of a delegated Kubernetes namespace. */
function reviewResource(
  resource: KubernetesObject,
  { documents: parsed, problems }: ParsedPolicies,
  limits: DelegationLimits | undefined,
): Review {
  const documents = parsed.map((one) => ({ ...one, name: qualifyName(resource, one.name) }))
  const [document] = documents
  if (document === undefined || problems.length > 0) {
    const message = joinMessages(problems.map((problem) => problem.message))
    const platform = limits === undefined ? documents : []
    return { resource, reason: 'Invalid', message, documents: platform.map(keepRestrictions) }
  }
  const violations =
    limits === undefined ? [] : describeEach(documents, (one) => findDelegationViolations(one, limits))
  if (violations.length > 0) return { resource, reason: 'NotDelegated', message: joinMessages(violations) }
  const message = document.isShadow ? 'the policy is evaluated as shadow' : 'the policy is in force'
  return { resource, reason: 'Accepted', message, documents }
}

/**
 * An error must not lift a restriction: all of these that could be read stay. A deny whose condition cannot be read
 * applies without it, and the tags of the namespace and beneath are unknown.
 */
function keepRestrictions(document: PolicyDocument): PolicyDocument {
  const { tags, rules } = document
  return {
    ...document,
    tags: tags && { ...tags, namespace: unknown },
    rules: rules.filter(({ effect }) => effect === 'deny'),
  }
}

const maxMessages = 20
const maxMessageLength = 300

/** One message a line. Limited, because they go to logs, and quote what was sent. */
function joinMessages(messages: readonly string[]): string {
  const shown = messages
    .slice(0, maxMessages)
    .map((message) =>
      message.length > maxMessageLength ? `${message.slice(0, maxMessageLength)}…` : message,
    )
  const hidden = messages.length - shown.length
  return [...shown, ...(hidden > 0 ? [`and ${hidden} more`] : [])].join('\n')
}
