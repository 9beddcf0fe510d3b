import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { KubernetesClient } from './kubernetes-client.ts'
import { KubernetesError, toKubernetesError } from './kubernetes-error.ts'

export interface LeaseOptions {
  readonly client: KubernetesClient
  /** Kubernetes namespace and name of the Lease, which is created if it does not exist. */
  readonly namespace: string
  readonly name: string
  /** Unique among all processes: two with one identity would both hold the Lease. */
  readonly identity: string
  /** Called for each failure; the next attempt follows. Must not throw. */
  readonly onError: (error: KubernetesError) => void
  readonly timing?: LeaseTiming
}

/** Milliseconds. */
interface LeaseTiming {
  /** Time without renewal after which others take the Lease; a multiple of 1000. */
  readonly durationMs: number
  /** Time since the last renewal after which the holder stops to be one; shorter, so that two never hold it. */
  readonly renewDeadlineMs: number
  readonly retryMs: number
}

export interface LeaderLease {
  readonly identity: string
  isHolder(): boolean
  /** Releases the Lease, unless the API server does not respond. Afterwards `isHolder` is false. */
  close(): Promise<void>
}

const defaultTiming: LeaseTiming = { durationMs: 30_000, renewDeadlineMs: 20_000, retryMs: 8_000 }
const releaseTimeoutMs = 2_000

const leaseSchema = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string().min(1) }),
  spec: z
    .looseObject({
      holderIdentity: z.string().nullish(),
      leaseDurationSeconds: z.int().nullish(),
      acquireTime: z.string().nullish(),
      renewTime: z.string().nullish(),
      leaseTransitions: z.int().nullish(),
    })
    .optional(),
})

type Lease = z.output<typeof leaseSchema>

/**
 * Competes for a Lease (coordination.k8s.io/v1) until closed. Compares no clocks of different machines: a Lease has
 * expired if this process has seen it unchanged for its duration.
 */
export function holdLease(options: LeaseOptions): LeaderLease {
  const { client, namespace, name, identity, onError, timing = defaultTiming } = options
  const collection = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`
  const path = `${collection}/${name}`
  const closing = new AbortController()
  /** Version of the Lease that was seen last, and since when. */
  let observed = { resourceVersion: '', since: 0 }
  /** The Lease is held until then, in the time of `performance.now()`. */
  let heldUntil = -Infinity
  /** The API server may have accepted a write, even if there was no response. */
  let hasWritten = false

  function isHolder(): boolean {
    return performance.now() < heldUntil
  }

  async function read(signal: AbortSignal): Promise<Lease | undefined> {
    const content = await client.get(path, undefined, signal).catch(ignoreStatus(404))
    if (content === undefined) return undefined
    const lease = leaseSchema.safeParse(content)
    if (lease.success) return lease.data
    throw new KubernetesError('Malformed', 'the API server sent a malformed Lease')
  }

  /** Whether another process holds the Lease. */
  function isHeldByOther({ metadata, spec }: Lease): boolean {
    const { resourceVersion } = metadata
    if (resourceVersion !== observed.resourceVersion) observed = { resourceVersion, since: performance.now() }
    const holder = spec?.holderIdentity ?? ''
    if (holder === '' || holder === identity) return false
    const durationMs = (spec?.leaseDurationSeconds ?? 0) * 1000 || timing.durationMs
    return performance.now() < observed.since + durationMs
  }

  /** Rejects with 409 if another process was faster. */
  async function write(lease: Lease | undefined, signal: AbortSignal): Promise<void> {
    hasWritten = true
    const now = formatMicroTime(new Date())
    const { holderIdentity, acquireTime, leaseTransitions } = lease?.spec ?? {}
    const isRenewal = holderIdentity === identity
    const spec = {
      holderIdentity: identity,
      leaseDurationSeconds: timing.durationMs / 1000,
      acquireTime: (isRenewal && acquireTime) || now,
      renewTime: now,
      leaseTransitions: (leaseTransitions ?? 0) + (lease === undefined || isRenewal ? 0 : 1),
    }
    if (lease !== undefined) {
      const { resourceVersion } = lease.metadata
      await client.patch(path, { metadata: { resourceVersion }, spec }, signal)
      return
    }
    const kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }
    await client.post(collection, { ...kind, metadata: { namespace, name }, spec }, signal)
  }

  async function acquireOrRenew(signal: AbortSignal): Promise<void> {
    // Others count from the time at which they see the renewal, which is later.
    const startedAt = performance.now()
    const lease = await read(signal)
    if (lease !== undefined && isHeldByOther(lease)) {
      heldUntil = -Infinity
      hasWritten = false
      return
    }
    try {
      await write(lease, signal)
    } catch (error) {
      if (error instanceof KubernetesError && error.status === 409) return
      throw error
    }
    if (!signal.aborted) heldUntil = startedAt + timing.renewDeadlineMs
  }

  async function run(): Promise<void> {
    const { signal } = closing
    while (!signal.aborted) {
      await acquireOrRenew(signal).catch((error: unknown) => {
        if (!signal.aborted) onError(toKubernetesError(error))
      })
      await sleep(timing.retryMs * (0.9 + Math.random() * 0.2), undefined, { signal }).catch(() => undefined)
    }
  }

  /** Reads it again: a renewal that was aborted may have taken effect. */
  async function release(): Promise<void> {
    const signal = AbortSignal.timeout(releaseTimeoutMs)
    const lease = await read(signal)
    if (lease?.spec?.holderIdentity !== identity) return
    const { resourceVersion } = lease.metadata
    await client.patch(path, { metadata: { resourceVersion }, spec: { holderIdentity: null } }, signal)
  }

  const running = run()
  let closed: Promise<void> | undefined
  async function close(): Promise<void> {
    heldUntil = -Infinity
    closing.abort()
    await running
    // It expires.
    if (hasWritten) await release().catch(() => undefined)
  }

  return { identity, isHolder, close: () => (closed ??= close()) }
}

function ignoreStatus(status: number): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof KubernetesError) || error.status !== status) throw error
  }
}

/** Format of the type `MicroTime`. */
function formatMicroTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z')
}
