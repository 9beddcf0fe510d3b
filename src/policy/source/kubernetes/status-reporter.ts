import { isDeepStrictEqual } from 'node:util'
import { createEventRecorder } from '../../../lib/kubernetes/event-recorder.ts'
import type { KubernetesClient } from '../../../lib/kubernetes/kubernetes-client.ts'
import { toKubernetesError, type KubernetesError } from '../../../lib/kubernetes/kubernetes-error.ts'
import { parseKubernetesObject, type KubernetesObject } from '../../../lib/kubernetes/kubernetes-object.ts'
import type { LeaderLease } from '../../../lib/kubernetes/leader-lease.ts'
import { policyApiGroup, policyResourceName } from '../../language/api-version.ts'
import {
  createStatus,
  getCondition,
  getStatus,
  type ResourceResult,
  type ResourceStatus,
} from './resource-status.ts'

export interface StatusReporterOptions {
  readonly client: KubernetesClient
  readonly lease: Pick<LeaderLease, 'identity' | 'isHolder'>
  /** A status or an event was not written; the same failure in one Kubernetes namespace is reported once per attempt. */
  readonly onError: (error: KubernetesError) => void
  /** Interval between attempts for what could not be written, or was reported before the Lease was held. */
  readonly retryMs?: number
}

export interface StatusReporter {
  /** Takes the results of all present resources; those of the last report no longer count. */
  report(results: readonly ResourceResult[]): void
  close(): Promise<void>
}

const maxConcurrent = 4
const defaultRetryMs = 15_000

interface WrittenStatus {
  /** The version that the status was written to. */
  readonly replaced: string
  readonly resource: KubernetesObject
}

/**
 * Writes the status of resources if it differs, and an event when one is refused. Only the holder of the Lease writes.
 * A resource that has changed or disappeared since is left to the next report.
 */
export function createStatusReporter(options: StatusReporterOptions): StatusReporter {
  const { client, lease, onError, retryMs = defaultRetryMs } = options
  const closing = new AbortController()
  const { signal } = closing
  const events = createEventRecorder({
    client,
    controller: `${policyApiGroup}/gateway`,
    instance: lease.identity,
    onError: (error) => {
      if (!signal.aborted) onError(error)
    },
  })
  /** By uid. */
  const written = new Map<string, WrittenStatus>()
  const pending = new Map<string, ResourceResult>()
  const failed = new Map<string, ResourceResult>()
  const reportedErrors = new Set<string>()
  const active = new Set<Promise<void>>()
  let isUnavailable = false

  /** A report may be older than the status that was written last. */
  function useNewest(result: ResourceResult): ResourceResult {
    const { uid, resourceVersion } = result.resource.metadata
    const last = written.get(uid)
    return last?.replaced === resourceVersion ? { ...result, resource: last.resource } : result
  }

  function canWrite(): boolean {
    return active.size < maxConcurrent && lease.isHolder() && !isUnavailable && !signal.aborted
  }

  function startWrites(): void {
    for (const [uid, result] of pending) {
      if (!canWrite()) return
      pending.delete(uid)
      const work = writeStatus(result)
        .catch((error: unknown) => handleFailure(result, toKubernetesError(error)))
        .then(() => {
          active.delete(work)
          startWrites()
        })
      active.add(work)
    }
  }

  async function writeStatus(result: ResourceResult): Promise<void> {
    const { resource } = result
    const { namespace, name, uid, resourceVersion } = resource.metadata
    const path = `/apis/${resource.apiVersion}/namespaces/${namespace}/${policyResourceName}/${name}/status`
    const status = createStatus(result, currentTime())
    const response = await client.patch(path, { metadata: { resourceVersion }, status }, signal)
    written.set(uid, { replaced: resourceVersion, resource: parseKubernetesObject(response) })
    if (isNewRefusal(getStatus(resource), status)) await recordRefusal(result)
  }

  async function recordRefusal({ resource, accepted }: ResourceResult): Promise<void> {
    const { reason, message } = accepted
    await events.record(
      { regarding: resource, type: 'Warning', action: 'Validate', reason, note: message },
      signal,
    )
  }

  function handleFailure(result: ResourceResult, error: KubernetesError): void {
    const { status } = error
    if (signal.aborted || status === 404 || status === 409) return
    const { uid, namespace } = result.resource.metadata
    failed.set(uid, result)
    if (status === undefined || status === 429 || status >= 500) isUnavailable = true
    const key = `${namespace} ${error.reason} ${status}`
    if (!reportedErrors.has(key)) onError(error)
    reportedErrors.add(key)
  }

  function retry(): void {
    isUnavailable = false
    reportedErrors.clear()
    for (const [uid, result] of failed) pending.set(uid, result)
    failed.clear()
    startWrites()
  }

  const timer = setInterval(retry, retryMs).unref()
  return {
    report(results) {
      const present = new Set(results.map(({ resource }) => resource.metadata.uid))
      for (const uid of written.keys()) if (!present.has(uid)) written.delete(uid)
      const failedBefore = new Map(failed)
      pending.clear()
      failed.clear()
      for (const result of results.map(useNewest).filter(needsWrite)) {
        const { uid, resourceVersion } = result.resource.metadata
        // Each written status causes a report, which must not repeat failures at once.
        const hasFailed = failedBefore.get(uid)?.resource.metadata.resourceVersion === resourceVersion
        const queue = hasFailed ? failed : pending
        queue.set(uid, result)
      }
      startWrites()
    },
    async close() {
      clearInterval(timer)
      closing.abort()
      await Promise.all(active)
    },
  }
}

function needsWrite(result: ResourceResult): boolean {
  return !isDeepStrictEqual(createStatus(result, currentTime()), getStatus(result.resource))
}

/** Whether the resource was accepted before, or refused for another reason. A deletion is no refusal. */
function isNewRefusal(before: ResourceStatus, after: ResourceStatus): boolean {
  const accepted = getCondition(after, 'Accepted')
  const last = getCondition(before, 'Accepted')
  if (accepted?.status !== 'False' || accepted.reason === 'Terminating') return false
  return last?.status !== 'False' || last.reason !== accepted.reason || last.message !== accepted.message
}

/** Format of the type `Time`, which has no milliseconds. */
function currentTime(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z')
}
