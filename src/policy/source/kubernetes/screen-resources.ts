import type { PolicyNamespace } from '../../../config/policy-kubernetes-settings.ts'
import { getMembers } from '../../../lib/json/is-object.ts'
import type { Steps } from '../../../lib/async/run-in-slices.ts'
import type { KubernetesObject } from '../../../lib/kubernetes/kubernetes-object.ts'
import type { PolicyText } from '../policy-location.ts'
import { formatResource, getWrittenContent } from './resource-text.ts'
import type { Verdict } from './verdict.ts'

/** A resource as text to parse, or refused before. */
export type ScreenedResource = Verdict | { readonly resource: KubernetesObject; readonly text: PolicyText }

/** Far above that of any policy. */
const maxDepth = 50

/**
 * Formats the resources of a Kubernetes namespace, oldest first, and refuses what would cost too much to parse. The
 * result depends on the resources alone, so all gateways agree.
 */
export function* screenResources(
  namespace: PolicyNamespace,
  resources: readonly KubernetesObject[],
): Steps<readonly ScreenedResource[]> {
  const screened: ScreenedResource[] = []
  let olderCount = 0
  for (const resource of resources.toSorted(byAge)) {
    if (isTerminating(resource)) {
      const message = 'the policy is being deleted and is not in force'
      screened.push({ resource, reason: 'Terminating', message })
      continue
    }
    const refusal = refuse(namespace, resource, olderCount)
    screened.push(refusal ?? { resource, text: formatResource(resource) })
    olderCount += refusal === undefined ? Math.max(1, listValues(resource).length) : 1
    yield
  }
  return screened
}

/** Whether the resource has been deleted and only finalizers keep it. */
export function isTerminating({ metadata }: KubernetesObject): boolean {
  return metadata.deletionTimestamp !== undefined
}

function refuse(
  namespace: PolicyNamespace,
  resource: KubernetesObject,
  olderCount: number,
): Verdict | undefined {
  if (isDeeper(getWrittenContent(resource), maxDepth))
    return { resource, reason: 'Invalid', message: `nested deeper than ${maxDepth} levels` }
  if (namespace.platform) return undefined
  const { maxPolicies, maxPolicyBytes } = namespace
  const refuseQuota = (message: string): Verdict => ({ resource, reason: 'QuotaExceeded', message })
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
