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
  /** A status was not written. It is tried again at the next review. */
  readonly onError: (error: KubernetesError) => void
  /** Interval between reviews of all statuses; default 30 s. */
  readonly intervalMs?: number
}

/** Owns the condition of all gateways, whichever of them writes: with one owner, equal writes change nothing. */
const fieldManager = 'catalog-gateway'

/**
 * Writes the condition of resources by server-side apply, if it differs and is about the present generation. All gateways do
 * so, without an election, each the same condition at most once between two reviews: while two settings revisions are rolled
 * out, gateways have two opinions about a resource, and must not take turns all the time.
 */
export function createStatusWriter(options: StatusWriterOptions) {
  const { client, onError, intervalMs = 30_000 } = options
  const closing = new AbortController()
  const { signal } = closing
  /** By uid. */
  let results: ReadonlyMap<string, ResourceResult> = new Map()
  /** By uid, the last written condition, and the version that it replaced; none if it could not be written. */
  const written = new Map<string, { readonly wanted: string; readonly replaced?: string }>()
  let isUnavailable = false

  async function writeAll(isReview: boolean): Promise<void> {
    for (const uid of results.keys()) {
      const result = results.get(uid)
      if (isUnavailable || signal.aborted) return
      if (result === undefined) continue
      await write(result, isReview).catch((error: unknown) => handleFailure(toKubernetesError(error)))
    }
  }

  let writing = Promise.resolve()
  function start(isReview: boolean): void {
    writing = writing.then(() => writeAll(isReview))
  }

  async function write(result: ResourceResult, isReview: boolean): Promise<void> {
    const { apiVersion, kind, metadata } = result.resource
    const { namespace, name, uid, generation, resourceVersion } = metadata
    if (result.generation !== generation) return
    const found = findAccepted(result.resource)
    const condition = createCondition(result, found)
    const wanted = describe(condition)
    const last = written.get(uid)
    // The report is older than the last write.
    const isOld = last?.replaced === resourceVersion
    if (describe(found) === wanted || (last?.wanted === wanted && (isOld || !isReview))) return
    written.set(uid, { wanted })
    const path = `/apis/${apiVersion}/namespaces/${namespace}/${policyResourceName}/${name}/status`
    const status = { observedGeneration: generation, conditions: [condition] }
    const applied = { apiVersion, kind, metadata: { namespace, name, uid }, status }
    await client.apply(path, applied, fieldManager, signal)
    written.set(uid, { wanted, replaced: resourceVersion })
  }

  function handleFailure(error: KubernetesError): void {
    const { status } = error
    // The resource was deleted, and perhaps created again.
    if (signal.aborted || status === 404 || status === 409) return
    isUnavailable = status === undefined || status === 429 || status >= 500
    onError(error)
  }

  const timer = setInterval(() => {
    isUnavailable = false
    start(true)
  }, intervalMs).unref()
  return {
    /** Takes the results of all present resources; those of the last report no longer count. */
    report(reported: readonly ResourceResult[]): void {
      results = new Map(reported.map((result) => [result.resource.metadata.uid, result]))
      for (const uid of written.keys()) if (!results.has(uid)) written.delete(uid)
      start(false)
    },
    async close(): Promise<void> {
      clearInterval(timer)
      closing.abort()
      await writing
    },
  }
}

type Condition = Readonly<Record<string, unknown>>

function findAccepted({ status }: KubernetesObject): Condition | undefined {
  const { conditions } = getMembers(status)
  return Array.isArray(conditions)
    ? conditions.map(getMembers).find(({ type }) => type === 'Accepted')
    : undefined
}

function createCondition(
  { generation: observedGeneration, reason, message }: ResourceResult,
  present: Condition | undefined,
): Condition {
  const status = reason === 'Accepted' ? 'True' : 'False'
  // The format of times in Kubernetes, in seconds.
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
  const lastTransitionTime = present?.['status'] === status ? present['lastTransitionTime'] : now
  return { type: 'Accepted', status, reason, message, observedGeneration, lastTransitionTime }
}

/** Equal for conditions that say the same, whenever they were written. */
function describe(condition: Condition | undefined): string {
  return JSON.stringify([condition], ['status', 'observedGeneration', 'reason', 'message'])
}
