import {
  type KubernetesClient,
  type KubernetesError,
  type KubernetesObject,
  toKubernetesError,
} from '../../../kubernetes/index.ts'
import { getMembers } from '../../../lib/index.ts'
import { policyResourceName } from '../../language/policy-document.ts'
import type { ResourceResult } from './kubernetes-policies.ts'

interface StatusWriterOptions {
  readonly client: KubernetesClient
  /** A status was not written; the same failure in one Kubernetes namespace is reported once per review. */
  readonly onError: (error: KubernetesError) => void
  /** Interval between reviews of all statuses; default 30 s. */
  readonly intervalMs?: number
}

interface StatusWriter {
  /** Takes the results of all present resources; those of the last report no longer count. */
  report(results: readonly ResourceResult[]): void
  close(): Promise<void>
}

/** Owns the conditions of all gateways, whichever of them writes: with one owner, equal writes change nothing. */
const fieldManager = 'catalog-gateway'

/**
 * Writes the conditions of resources by server-side apply, if they differ and are about the present generation. All
 * gateways do so, without an election. While two settings revisions are rolled out, gateways have two opinions about a
 * resource: that of another gateway about the same generation is left until the next review, so that they do not take
 * turns all the time.
 */
export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  const { client, onError, intervalMs = 30_000 } = options
  const closing = new AbortController()
  const { signal } = closing
  /** By uid. */
  let results: ReadonlyMap<string, ResourceResult> = new Map()
  /** By uid, the last conditions of this gateway's opinion that were found or written, and what the write replaced. */
  const known = new Map<string, { readonly conditions: string; readonly replaced?: string }>()
  /** Uids that are not tried again before the next review: each written status causes a report. */
  const failed = new Set<string>()
  const reportedErrors = new Set<string>()
  let isUnavailable = false

  /** Writes one status after the other. A review replaces the opinions of other gateways. */
  async function writeAll(isReview: boolean): Promise<void> {
    for (const uid of results.keys()) {
      const result = results.get(uid)
      if (isUnavailable || signal.aborted) return
      if (result === undefined || failed.has(uid)) continue
      await write(result, isReview).catch((error: unknown) => handleFailure(result, toKubernetesError(error)))
    }
  }

  let writing = Promise.resolve()
  function start(isReview: boolean): void {
    writing = writing.then(() => writeAll(isReview))
  }

  async function write(result: ResourceResult, isReview: boolean): Promise<void> {
    const { apiVersion, kind, metadata } = result.resource
    const { namespace, name, uid, generation } = metadata
    if (result.generation !== generation) return
    const found = getConditions(result.resource)
    const conditions = createConditions(result, found)
    const [present, wanted] = [describe(found), describe(conditions)]
    const last = known.get(uid)
    // The report is older than the last write.
    if (wanted === last?.conditions && present === last.replaced) return
    if (present === wanted) known.set(uid, { conditions: wanted })
    const isOfThisGeneration = findCondition(found, 'Accepted')?.['observedGeneration'] === generation
    const isOfAnother = isOfThisGeneration && present !== last?.conditions
    if (present === wanted || (isOfAnother && !isReview)) return
    const path = `/apis/${apiVersion}/namespaces/${namespace}/${policyResourceName}/${name}/status`
    const status = { observedGeneration: generation, conditions }
    const applied = { apiVersion, kind, metadata: { namespace, name, uid }, status }
    await client.apply(path, applied, fieldManager, signal)
    known.set(uid, { conditions: wanted, replaced: present })
  }

  function handleFailure({ resource }: ResourceResult, error: KubernetesError): void {
    if (signal.aborted) return
    const { uid, namespace } = resource.metadata
    const { status } = error
    failed.add(uid)
    // The resource was deleted, and perhaps created again.
    if (status === 404 || status === 409) return
    isUnavailable = status === undefined || status === 429 || status >= 500
    const key = `${namespace} ${status}`
    if (!reportedErrors.has(key)) onError(error)
    reportedErrors.add(key)
  }

  const timer = setInterval(() => {
    isUnavailable = false
    reportedErrors.clear()
    failed.clear()
    start(true)
  }, intervalMs).unref()
  return {
    report(reported) {
      results = new Map(reported.map((result) => [result.resource.metadata.uid, result]))
      for (const uid of known.keys()) if (!results.has(uid)) known.delete(uid)
      start(false)
    },
    async close() {
      clearInterval(timer)
      closing.abort()
      await writing
    },
  }
}

type Condition = Readonly<Record<string, unknown>>

/** Returns the conditions that the resource has. Without a valid status, it has none. */
function getConditions({ status }: KubernetesObject): readonly Condition[] {
  const { conditions } = getMembers(status)
  return Array.isArray(conditions) ? conditions.map(getMembers) : []
}

/** Returns the conditions that the resource should have in place of `present`. */
function createConditions(
  { generation: observedGeneration, reason, message, conflict }: ResourceResult,
  present: readonly Condition[],
): readonly Condition[] {
  const noConflict = 'no policy reserves what this one grants'
  return [
    { type: 'Accepted', isTrue: reason === 'Accepted', reason, message },
    conflict === undefined
      ? { type: 'Conflict', isTrue: false, reason: 'NoConflict', message: noConflict }
      : { type: 'Conflict', isTrue: true, reason: 'Reserved', message: conflict },
  ].map(({ isTrue, ...condition }) => {
    const status = isTrue ? 'True' : 'False'
    const before = findCondition(present, condition.type)
    // The format of times in Kubernetes, in seconds.
    const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
    const lastTransitionTime = before?.['status'] === status ? before['lastTransitionTime'] : now
    return { ...condition, status, observedGeneration, lastTransitionTime }
  })
}

function findCondition(conditions: readonly Condition[], type: string): Condition | undefined {
  return conditions.find((condition) => condition['type'] === type)
}

/** Equal for own conditions that say the same, whenever they were written. */
function describe(conditions: readonly Condition[]): string {
  const own = ['Accepted', 'Conflict'].map((type) => findCondition(conditions, type))
  return JSON.stringify(own, ['status', 'observedGeneration', 'reason', 'message'])
}
