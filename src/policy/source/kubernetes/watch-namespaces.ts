import { setTimeout as sleep } from 'node:timers/promises'
import type { PolicyNamespace } from '../../../config/index.ts'
import { getMembers } from '../../../lib/json/json-values.ts'
import {
  type KubernetesClient,
  toKubernetesError,
  KubernetesError,
  type KubernetesObject,
} from '../../../lib/kubernetes/kubernetes-client.ts'
import { watchResources } from '../../../lib/kubernetes/watch-resources.ts'
import { policyResourceName, resourceApiVersion } from '../../language/api-version.ts'
import { PolicyError } from '../../language/policy-error.ts'
import { isTerminating, type NamespaceContent } from './review-resources.ts'

/** The callbacks must not throw. */
export interface NamespaceObserver {
  /** The API server reports changes of the Kubernetes namespace from now on. */
  readonly onConnect: (namespace: string) => void
  /** A request failed; the last policies stay in force. */
  readonly onError: (namespace: string, error: KubernetesError) => void
}

export interface WatchOptions {
  readonly client: KubernetesClient
  readonly namespaces: readonly PolicyNamespace[]
  readonly observer: NamespaceObserver
  /** Brings the policies of all Kubernetes namespaces into force. Called again, after a pause, if it rejects. */
  readonly load: (contents: readonly NamespaceContent[]) => Promise<void>
  /** `load` rejected; a repeated failure is reported once. */
  readonly onLoadError: (cause: unknown) => void
  /** The present resources or their status changed. */
  readonly onResources: (resources: readonly KubernetesObject[]) => void
  /** How long the first complete load may take; default 30 s. */
  readonly startTimeoutMs?: number | undefined
  /** Delay after a failed request for a Kubernetes namespace; default 2 s. */
  readonly retryMs?: number | undefined
  /** Length of the pause after a load, in units of its duration, but at least 1 s; default 4. */
  readonly pausesPerUpdate?: number | undefined
}

const minPauseMs = 1_000

interface Watched {
  readonly namespace: PolicyNamespace
  /** The newest resources, not verified yet; undefined before the first complete list. */
  listed: readonly KubernetesObject[] | undefined
  /** What counts; undefined until the Kubernetes namespace was listed and its identity verified. */
  content: NamespaceContent | undefined
  readonly failing: Set<'watch' | 'verification'>
  lastError: string | undefined
}

/**
 * Watches the policies of Kubernetes namespaces, and loads them whenever they change and the identity of their namespace was
 * verified. Resolves when all are loaded. Rejects with PolicyError if that takes too long.
 */
export async function watchNamespaces(options: WatchOptions): Promise<{ close: () => void }> {
  const { client, observer, startTimeoutMs = 30_000, retryMs = 2_000, pausesPerUpdate = 4 } = options
  const watched = options.namespaces.map((namespace): Watched => {
    return { namespace, listed: undefined, content: undefined, failing: new Set(), lastError: undefined }
  })
  const loaded = new AbortController()
  const closing = new AbortController()
  let isStale = false
  let isRunning = false
  let loadedContent: string | undefined
  let lastFailure: string | undefined
  let timer: NodeJS.Timeout | undefined

  function succeed({ namespace, failing }: Watched, part: 'watch' | 'verification'): void {
    const hasFailed = failing.delete(part)
    if ((hasFailed || part === 'watch') && failing.size === 0) observer.onConnect(namespace.name)
  }

  function fail(one: Watched, part: 'watch' | 'verification', error: KubernetesError): void {
    one.failing.add(part)
    one.lastError = error.message
    observer.onError(one.namespace.name, error)
  }

  function setContent(one: Watched, content: NamespaceContent): void {
    one.content = content
    options.onResources(watched.flatMap(({ content }) => content?.resources ?? []))
  }

  function receive(one: Watched, resources: readonly KubernetesObject[]): void {
    one.listed = resources
    if (one.content === undefined || !hasSamePolicies(one.content, resources)) reconcileLater()
    else setContent(one, { ...one.content, resources })
  }

  /**
   * A team must not hold back the start of gateways, nor keep grants by a list that is too large. Without the permission
   * to list, a Kubernetes namespace may have been deleted with its roles.
   */
  function failWatch(one: Watched, error: KubernetesError): void {
    fail(one, 'watch', error)
    const { namespace, content } = one
    if (namespace.platform) return
    const isForbidden = error.status === 403 || error.status === 404
    if (error.reason !== 'TooLarge' && !(isForbidden && content === undefined)) return
    one.listed = []
    setContent(one, { namespace, resources: [], isReplaced: false })
    reconcileLater()
  }

  async function verify(one: Watched): Promise<void> {
    const { namespace, listed, content, failing } = one
    if (listed === undefined) return
    if (content !== undefined && hasSamePolicies(content, listed) && !failing.has('verification')) return
    try {
      const isReplaced = !(await isSameNamespace(client, namespace))
      if (closing.signal.aborted) return
      setContent(one, { namespace, resources: keepPresent(listed, one.listed), isReplaced })
      succeed(one, 'verification')
    } catch (error) {
      if (closing.signal.aborted) return
      // A deletion takes effect at once; what was added or changed waits.
      const { content } = one
      if (content !== undefined)
        setContent(one, { ...content, resources: keepPresent(content.resources, one.listed) })
      fail(one, 'verification', toKubernetesError(error))
      clearTimeout(timer)
      timer = setTimeout(reconcileLater, retryMs).unref()
    }
  }

  async function reconcile(): Promise<void> {
    await Promise.all(watched.map(verify))
    const contents = watched.flatMap(({ content }) => content ?? [])
    const described = JSON.stringify(contents.map(describe))
    if (contents.length < watched.length || described === loadedContent || closing.signal.aborted) return
    await options.load(contents)
    loadedContent = described
    loaded.abort()
  }

  function reconcileLater(): void {
    isStale = true
    if (!isRunning) void run()
  }

  /**
   * Runs one load after the other, so that an older one cannot replace a newer one. Pauses after each, so that somebody who
   * edits a policy all the time does not keep the gateway busy.
   */
  async function run(): Promise<void> {
    isRunning = true
    while (isStale && !closing.signal.aborted) {
      isStale = false
      const startedAt = performance.now()
      const before = loadedContent
      await reconcile().then(
        () => (lastFailure = undefined),
        (cause: unknown) => {
          isStale = true
          if (String(cause) !== lastFailure) options.onLoadError(cause)
          lastFailure = String(cause)
        },
      )
      if (loadedContent === before && lastFailure === undefined) continue
      const pauseMs = Math.max(minPauseMs, (performance.now() - startedAt) * pausesPerUpdate)
      await sleep(pauseMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)
    }
    isRunning = false
  }

  const watches = watched.map((one) =>
    watchResources({
      client,
      path: `/apis/${resourceApiVersion}/namespaces/${one.namespace.name}/${policyResourceName}`,
      onChange: (resources) => receive(one, resources),
      onError: (error) => failWatch(one, error),
      onConnect: () => succeed(one, 'watch'),
    }),
  )
  function close(): void {
    closing.abort()
    clearTimeout(timer)
    for (const watch of watches) watch.close()
  }
  const isLate = await sleep(startTimeoutMs, true, { signal: loaded.signal }).catch(() => false)
  if (!isLate) return { close }
  close()
  const time = `within ${startTimeoutMs} ms`
  const missing = watched
    .filter(({ content }) => content === undefined)
    .map(({ namespace, lastError = 'the API server does not respond' }) => ({
      file: `${policyResourceName}/${namespace.name}`,
      message: `cannot be listed ${time}: ${lastError}`,
    }))
  const message = `cannot be loaded ${time}: ${lastFailure ?? 'too much to do'}`
  throw new PolicyError(missing.length > 0 ? missing : [{ file: policyResourceName, message }])
}

function hasSamePolicies(content: NamespaceContent, resources: readonly KubernetesObject[]): boolean {
  return describe(content) === describe({ ...content, resources })
}

/** Equal for equal policies, whatever their status. */
function describe({ resources, isReplaced }: NamespaceContent): string {
  const versions = resources.map(
    ({ metadata: { uid, generation, deletionTimestamp = '' } }) =>
      `${uid} ${generation} ${deletionTimestamp}`,
  )
  return JSON.stringify([isReplaced, ...versions.toSorted()])
}

function keepPresent(
  resources: readonly KubernetesObject[],
  present: readonly KubernetesObject[] = [],
): readonly KubernetesObject[] {
  if (resources === present) return resources
  const uids = new Set(
    present.filter((resource) => !isTerminating(resource)).map(({ metadata }) => metadata.uid),
  )
  return resources.filter(({ metadata }) => uids.has(metadata.uid))
}

/**
 * Whether the Kubernetes namespace is the one that the settings name, and not another one of the same name. Rejects with
 * KubernetesError if the API server does not say.
 */
async function isSameNamespace(
  client: Pick<KubernetesClient, 'get'>,
  { name, uid }: PolicyNamespace,
): Promise<boolean> {
  if (uid === undefined) return true
  try {
    const namespace = await client.get(`/api/v1/namespaces/${name}`)
    return getMembers(getMembers(namespace)['metadata'])['uid'] === uid
  } catch (error) {
    if (error instanceof KubernetesError && error.status === 404) return false
    throw error
  }
}
