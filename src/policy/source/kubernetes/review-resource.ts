import type { PolicyNamespace } from '../../../config/policy-kubernetes-settings.ts'
import { getMembers } from '../../../lib/json/is-object.ts'
import type { AdmissionRequest, AdmissionResult } from '../../../lib/kubernetes/admission-review.ts'
import { parseKubernetesObject, type KubernetesObject } from '../../../lib/kubernetes/kubernetes-object.ts'
import { lintPolicies } from '../../analysis/lint/lint-policies.ts'
import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'
import { compilePolicies } from '../../policy-set.ts'
import { createJudge } from './judge-namespaces.ts'
import { listRefusals } from './list-refusals.ts'
import { isTerminating } from './screen-resources.ts'
import type { Verdict } from './verdict.ts'

/** The client shows them on a terminal. */
const maxWarnings = 20

export interface ReviewOptions {
  readonly namespaces: readonly PolicyNamespace[]
  readonly vocabulary: PolicyVocabulary
}

/**
 * Creates the review of AccessPolicy resources: a resource is refused if a gateway would refuse it, whatever other
 * resources there are. The texts show nothing of other policies and delegations.
 */
export function createResourceReviewer({
  namespaces,
  vocabulary,
}: ReviewOptions): (request: AdmissionRequest) => Promise<AdmissionResult> {
  const judge = createJudge(vocabulary)

  async function review({ operation, namespace: name, object }: AdmissionRequest): Promise<AdmissionResult> {
    const resource = operation === 'CREATE' || operation === 'UPDATE' ? toResource(object) : undefined
    if (resource === undefined) return { refusal: undefined, warnings: [] }
    const namespace = namespaces.find((one) => one.name === name)
    if (namespace === undefined) {
      const warning = `the gateway of this webhook uses no policies of the Kubernetes namespace ${name}`
      return { refusal: undefined, warnings: [warning] }
    }
    const verdicts = await judge([{ namespace, resources: [resource], isReplaced: false }])
    return {
      refusal: describeRefusal(verdicts),
      warnings: listWarnings(verdicts).slice(0, maxWarnings),
    }
  }

  // One after the other: each is parsed in a thread.
  let last: Promise<unknown> = Promise.resolve()
  return (request) => {
    const reviewed = last.then(() => review(request))
    last = reviewed.catch(() => undefined)
    return reviewed
  }
}

/** Undefined for an object that is being deleted: an error in it must not keep finalizers from being removed. */
function toResource(object: unknown): KubernetesObject | undefined {
  const { metadata } = getMembers(object)
  // A new object has no version yet.
  const resource = parseKubernetesObject({
    ...getMembers(object),
    metadata: { resourceVersion: '0', ...getMembers(metadata) },
  })
  return isTerminating(resource) ? undefined : resource
}

function describeRefusal(verdicts: readonly Verdict[]): string | undefined {
  const messages = listRefusals(verdicts).map(({ message }) => message)
  return messages.length === 0 ? undefined : messages.join('\n')
}

/** An invalid document has no warnings: its errors may be the reason. */
function listWarnings(verdicts: readonly Verdict[]): readonly string[] {
  const documents = verdicts.flatMap(({ reason, documents = [] }) => (reason === 'Accepted' ? documents : []))
  return lintPolicies(documents, compilePolicies(documents), [])
    .filter(({ level }) => level === 'error' || level === 'warning')
    .map(({ check, message }) => `${check}: ${message}`)
}
