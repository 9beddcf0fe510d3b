import type { KubernetesObject } from '../../../lib/kubernetes/kubernetes-object.ts'

/** Why a resource is accepted or refused: the reason of its condition `Accepted`. */
export type AcceptedReason = 'Accepted' | 'Invalid' | 'NotDelegated' | 'QuotaExceeded' | 'NamespaceReplaced'

/** Why a grant has no effect: the reason of the condition `Conflict`. */
export type ConflictReason = 'NoConflict' | 'Reserved'

/** What the gateway made of one resource. The messages are shown to everybody who may read the resource. */
export interface ResourceResult {
  readonly resource: KubernetesObject
  readonly accepted: { readonly reason: AcceptedReason; readonly message: string }
  readonly conflict: { readonly reason: ConflictReason; readonly message: string }
}
