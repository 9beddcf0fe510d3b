import { z } from 'zod'
import type { KubernetesObject } from '../../../lib/kubernetes/kubernetes-object.ts'

/** Why a resource is accepted or refused. */
export type AcceptedReason =
  | 'Accepted'
  | 'Invalid'
  | 'NotDelegated'
  | 'QuotaExceeded'
  | 'NamespaceReplaced'
  | 'Terminating'

/** `Reserved`: a policy of the platform reserves an operation that the resource grants, so it is not granted. */
type ConflictReason = 'NoConflict' | 'Reserved'

/** How the gateway applies one resource. The messages are shown to everybody who may read the resource. */
export interface ResourceResult {
  readonly resource: KubernetesObject
  readonly accepted: { readonly reason: AcceptedReason; readonly message: string }
  readonly conflict: { readonly reason: ConflictReason; readonly message: string }
}

/** A condition as all Kubernetes resources have it. */
const conditionSchema = z.object({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  observedGeneration: z.int().exactOptional(),
  lastTransitionTime: z.string(),
  reason: z.string(),
  message: z.string(),
})

type Condition = z.output<typeof conditionSchema>

const statusSchema = z.object({
  observedGeneration: z.int().exactOptional(),
  conditions: z.array(conditionSchema).default([]),
})

export type ResourceStatus = z.output<typeof statusSchema>

const maxMessageLength = 4_000

/** Returns the status that the resource has. Without a valid one, it has no conditions. */
export function getStatus({ status }: KubernetesObject): ResourceStatus {
  const parsed = statusSchema.safeParse(status)
  return parsed.success ? parsed.data : { conditions: [] }
}

export function getCondition({ conditions }: ResourceStatus, type: string): Condition | undefined {
  return conditions.find((condition) => condition.type === type)
}

/** Returns the status that the resource should have; conditions of others stay. `now` is in ISO 8601 in seconds. */
export function createStatus({ resource, accepted, conflict }: ResourceResult, now: string): ResourceStatus {
  const present = getStatus(resource)
  const observedGeneration = resource.metadata.generation

  function createCondition(
    type: string,
    isTrue: boolean,
    { reason, message }: { readonly reason: string; readonly message: string },
  ): Condition {
    const status = isTrue ? 'True' : 'False'
    const before = getCondition(present, type)
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now
    return { type, status, observedGeneration, lastTransitionTime, reason, message: truncate(message) }
  }

  const own = [
    createCondition('Accepted', accepted.reason === 'Accepted', accepted),
    createCondition('Conflict', conflict.reason !== 'NoConflict', conflict),
  ]
  const others = present.conditions.filter(({ type }) => !own.some((condition) => condition.type === type))
  return { observedGeneration, conditions: [...own, ...others] }
}

function truncate(message: string): string {
  return message.length <= maxMessageLength ? message : `${message.slice(0, maxMessageLength - 1)}…`
}
