import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import {
  type KubernetesClient,
  KubernetesError,
  parseKubernetesObject,
  type KubernetesObject,
  toKubernetesError,
} from './kubernetes-client.ts'
import { Backoff } from '../lib/index.ts'

/** Bounds the size of a response, which is parsed in one go. */
const pageLimit = 50

const pageSchema = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string().min(1), continue: z.string().optional() }),
  items: z.array(z.unknown()),
})

/** Lists a collection completely, in pages, all of one version. Rejects with KubernetesError. */
async function listResources(
  client: KubernetesClient,
  path: string,
  maxTotalLength: number,
  signal: AbortSignal,
): Promise<{ readonly resources: readonly KubernetesObject[]; readonly resourceVersion: string }> {
  const resources: KubernetesObject[] = []
  let totalLength = 0
  let resourceVersion: string | undefined
  let token: string | undefined
  do {
    const query = { limit: pageLimit, ...(token !== undefined && { continue: token }) }
    const page = pageSchema.safeParse(await client.get(path, query, signal)).data
    if (page === undefined)
      throw new KubernetesError('the API server sent a list without items or resourceVersion')
    totalLength += JSON.stringify(page.items).length
    if (totalLength > maxTotalLength) {
      const message = `the resources have more than ${maxTotalLength} characters; delete some of them`
      throw new KubernetesError(message, { status: 413 })
    }
    for (const item of page.items) resources.push(parseKubernetesObject(item))
    resourceVersion ??= page.metadata.resourceVersion
    token = page.metadata.continue === '' ? undefined : page.metadata.continue
  } while (token !== undefined)
  return { resources, resourceVersion }
}

export interface WatchResourcesOptions {
  readonly client: KubernetesClient
  /** Collection of namespaced custom resources: `/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL`. */
  readonly path: string
  /** Called with each complete list. If it rejects, that is a failure as of a request. */
  readonly onList: (resources: readonly KubernetesObject[]) => void | Promise<void>
  /** Called for each failure; it must not throw. The collection is listed again after a delay. */
  readonly onError: (error: KubernetesError) => void
  /** Called when changes since the last list cause a new one from now on, until the next failure; must not throw. */
  readonly onConnect?: () => void
  /** Limit on all resources as JSON, in characters; default 64 Mi. Over it, the error has the status 413. */
  readonly maxTotalLength?: number
  readonly timing?: WatchTiming | undefined
  readonly signal: AbortSignal
}

/** Milliseconds. */
export interface WatchTiming {
  /** Between the beginnings of two lists at least. After the first of consecutive failures, half of it is random. */
  readonly minDelayMs: number
  /** The delay doubles with each failure, up to this. */
  readonly maxDelayMs: number
}

const defaultTiming: WatchTiming = { minDelayMs: 1_000, maxDelayMs: 30_000 }

/**
 * Lists a collection whenever it has changed, and each minute, until the signal aborts. A change is only a reason to list:
 * each list is complete, even if changes are missed or arrive late.
 */
export async function watchResources(options: WatchResourcesOptions): Promise<void> {
  const { client, path, onList, onError, onConnect, signal, timing = defaultTiming } = options
  const { maxTotalLength = 64 * 1024 * 1024 } = options
  const backoff = new Backoff({ minMs: timing.minDelayMs, maxMs: timing.maxDelayMs })

  function connect(): void {
    backoff.reset()
    if (!signal.aborted) onConnect?.()
  }

  while (!signal.aborted) {
    const startedAt = performance.now()
    let delayMs = timing.minDelayMs
    try {
      const { resources, resourceVersion } = await listResources(client, path, maxTotalLength, signal)
      signal.throwIfAborted()
      await onList(resources)
      await client.awaitChange(path, resourceVersion, connect, signal)
      delayMs += startedAt - performance.now()
    } catch (error) {
      if (signal.aborted) return
      onError(toKubernetesError(error))
      delayMs = backoff.next()
    }
    await sleep(Math.max(0, delayMs), undefined, { signal }).catch(() => undefined)
  }
}
