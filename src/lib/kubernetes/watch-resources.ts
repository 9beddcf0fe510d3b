import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import {
  type KubernetesClient,
  KubernetesError,
  parseKubernetesObject,
  type KubernetesObject,
  toKubernetesError,
  type WatchEvent,
} from './kubernetes-client.ts'
import { Backoff } from '../async/backoff.ts'
import { getMembers } from '../json/json-values.ts'

interface Entry {
  readonly resource: KubernetesObject
  readonly length: number
}

/** Resources by namespace and name, with a limit on their total length as JSON. */
class ResourceCache {
  readonly #entries = new Map<string, Entry>()
  readonly #maxLength: number
  #length = 0

  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  /** Adds or replaces a resource. Over the limit, throws KubernetesError and changes nothing. */
  set(resource: KubernetesObject): void {
    const key = getKey(resource)
    const { length } = JSON.stringify(resource)
    const newLength = this.#length + length - this.#getLength(key)
    if (newLength > this.#maxLength) {
      const message = `the resources have more than ${this.#maxLength} characters; delete some of them`
      throw new KubernetesError('TooLarge', message)
    }
    this.#length = newLength
    this.#entries.set(key, { resource, length })
  }

  delete(resource: KubernetesObject): void {
    const key = getKey(resource)
    this.#length -= this.#getLength(key)
    this.#entries.delete(key)
  }

  #getLength(key: string): number {
    return this.#entries.get(key)?.length ?? 0
  }

  /** In no particular order. */
  list(): readonly KubernetesObject[] {
    return [...this.#entries.values()].map(({ resource }) => resource)
  }
}

function getKey({ metadata }: KubernetesObject): string {
  return `${metadata.namespace}/${metadata.name}`
}

/** Bounds the size of a response, which is parsed in one go. */
const pageLimit = 50

const pageSchema = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string().min(1), continue: z.string().optional() }),
  items: z.array(z.unknown()),
})

/**
 * Lists a collection completely, in pages. A watch from the version in the result has all later changes. Rejects with
 * KubernetesError.
 */
async function listResources(
  client: KubernetesClient,
  path: string,
  { maxTotalLength, signal }: { readonly maxTotalLength: number; readonly signal: AbortSignal },
): Promise<{ readonly resources: ResourceCache; readonly resourceVersion: string }> {
  const resources = new ResourceCache(maxTotalLength)
  let resourceVersion: string | undefined
  let token: string | undefined
  do {
    const query = { limit: pageLimit, ...(token !== undefined && { continue: token }) }
    const page = pageSchema.safeParse(await client.get(path, query, signal)).data
    if (page === undefined)
      throw new KubernetesError('Malformed', 'the API server sent a list without items or resourceVersion')
    for (const item of page.items) resources.set(parseKubernetesObject(item))
    resourceVersion ??= page.metadata.resourceVersion
    token = page.metadata.continue === '' ? undefined : page.metadata.continue
  } while (token !== undefined)
  return { resources, resourceVersion }
}

/** The callbacks must not throw. */
export interface WatchResourcesOptions {
  readonly client: KubernetesClient
  /** Collection of namespaced custom resources: `/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL`. */
  readonly path: string
  /** Called with all present resources: after each complete list, and once per burst of changes. */
  readonly onChange: (resources: readonly KubernetesObject[]) => void
  /** Called for each failure; the last resources remain valid, and the watch continues after a delay. */
  readonly onError: (error: KubernetesError) => void
  /** Called when the API server accepts a watch: changes are reported as they happen until the next failure. */
  readonly onConnect?: () => void
  /** Limit on all resources as JSON, in characters; default 64 Mi. Over it, the error is `TooLarge`. */
  readonly maxTotalLength?: number
  readonly timing?: Partial<WatchTiming>
}

/** Milliseconds. */
export interface WatchTiming {
  /** Changes within this time are reported together. */
  readonly burstMs: number
  /** A watch without events for this long is replaced. API servers send a bookmark each minute. */
  readonly silenceMs: number
  /** Delay after the first of consecutive failures; doubles up to `maxDelayMs`, and half of it is random. */
  readonly minDelayMs: number
  readonly maxDelayMs: number
}

export interface ResourceWatch {
  close(): void
}

const defaultTiming: WatchTiming = { burstMs: 50, silenceMs: 90_000, minDelayMs: 1_000, maxDelayMs: 30_000 }
const defaultMaxTotalLength = 64 * 1024 * 1024
/** The API server ends a watch after this long, plus a random part so that not all watches end together. */
const minWatchSeconds = 240
const maxWatchSeconds = 360

/** Follows a collection until closed. */
export function watchResources(options: WatchResourcesOptions): ResourceWatch {
  const { client, path, onChange, onError, onConnect } = options
  const { maxTotalLength = defaultMaxTotalLength } = options
  const timing = { ...defaultTiming, ...options.timing }
  let isClosed = false
  let attempt = new AbortController()
  let resources = new ResourceCache(maxTotalLength)
  /** The resources are those of this version; undefined if they have to be listed. */
  let version: string | undefined
  let burst: NodeJS.Timeout | undefined
  /** When the API server accepted the watch of this attempt, in the time of `performance.now()`. */
  let connectedAt = Infinity

  function reportChange(): void {
    clearTimeout(burst)
    burst = undefined
    onChange(resources.list())
  }

  async function list(): Promise<string> {
    const { signal } = attempt
    const result = await listResources(client, path, { maxTotalLength, signal })
    if (isClosed) throw new KubernetesError('Unreachable', 'the watch is closed')
    resources = result.resources
    reportChange()
    return result.resourceVersion
  }

  function apply({ type, object }: WatchEvent): void {
    if (type !== 'BOOKMARK') {
      const resource = parseKubernetesObject(object)
      if (type === 'DELETED') resources.delete(resource)
      else resources.set(resource)
      burst ??= setTimeout(reportChange, timing.burstMs)
    }
    version = parseResourceVersion(object)
  }

  /** Resolves when the API server ends the watch or is silent. */
  async function watch(resourceVersion: string): Promise<void> {
    const { signal } = attempt
    const query = {
      resourceVersion,
      allowWatchBookmarks: true,
      timeoutSeconds: Math.round(randomBetween(minWatchSeconds, maxWatchSeconds)),
    }
    const events = await client.watch(path, query, signal)
    connectedAt = performance.now()
    let isSilent = false
    const silence = setTimeout(() => {
      isSilent = true
      attempt.abort()
    }, timing.silenceMs)
    try {
      if (!isClosed) onConnect?.()
      for await (const event of events) {
        if (isClosed) return
        silence.refresh()
        apply(event)
      }
    } catch (error) {
      if (!isSilent) throw error
    } finally {
      clearTimeout(silence)
    }
  }

  /** Lists if necessary, and watches once. */
  async function follow(): Promise<void> {
    version ??= await list()
    await watch(version)
    if (performance.now() - connectedAt < timing.minDelayMs) {
      throw new KubernetesError('Unreachable', 'the API server ended the watch at once')
    }
  }

  async function run(): Promise<void> {
    const backoff = new Backoff({ minMs: timing.minDelayMs, maxMs: timing.maxDelayMs })
    for (;;) {
      attempt = new AbortController()
      connectedAt = Infinity
      const wasListed = version !== undefined
      try {
        await follow()
        backoff.reset()
      } catch (cause) {
        if (isClosed) return
        const error = toKubernetesError(cause)
        // After any response other than a complete one, changes since the version may be lost.
        if (error.reason !== 'Unreachable') version = undefined
        // Versions expire.
        if (error.status === 410 && wasListed) continue
        onError(error)
        if (performance.now() - connectedAt >= timing.maxDelayMs) backoff.reset()
        await pause(backoff.next(), attempt.signal)
      }
      if (isClosed) return
    }
  }

  void run()
  return {
    close() {
      isClosed = true
      clearTimeout(burst)
      attempt.abort()
    },
  }
}

function parseResourceVersion(object: Readonly<Record<string, unknown>>): string {
  const { resourceVersion } = getMembers(object['metadata'])
  if (typeof resourceVersion === 'string' && resourceVersion !== '') return resourceVersion
  throw new KubernetesError('Malformed', 'the API server sent an event without resourceVersion')
}

function randomBetween(min: number, max: number): number {
  return min + Math.random() * (max - min)
}

/** Resolves early if the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}
