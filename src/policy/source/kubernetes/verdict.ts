import type { KubernetesObject } from '../../../lib/kubernetes/kubernetes-object.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import type { AcceptedReason } from './resource-status.ts'

/** What becomes of a resource. */
export interface Verdict {
  readonly resource: KubernetesObject
  readonly reason: AcceptedReason
  /** In words for the writer of the resource. Shows nothing of other Kubernetes namespaces. */
  readonly message: string
  /**
   * What counts: the policy if it is accepted, with `forEach` a document for each value; the restrictions of an invalid
   * policy of the platform.
   */
  readonly documents?: readonly PolicyDocument[]
}

/** Returns what counts, in the order of names, so that the first rule that applies is the same in all gateways and commands. */
export function listDocuments(verdicts: readonly Verdict[]): readonly PolicyDocument[] {
  return verdicts
    .flatMap(({ documents }) => documents ?? [])
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
}
