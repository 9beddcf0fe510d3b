import type { PolicyNamespace } from '../../../config/policy-settings.ts'
import type { KubernetesClient } from '../../../lib/kubernetes/kubernetes-client.ts'
import { toKubernetesError, KubernetesError } from '../../../lib/kubernetes/kubernetes-error.ts'
import type { KubernetesObject } from '../../../lib/kubernetes/kubernetes-object.ts'
import { watchResources } from '../../../lib/kubernetes/watch-resources.ts'
import { policyResourceName, resourceApiVersion } from '../../language/api-version.ts'
import { isTerminating, type NamespaceContent } from './review-resources.ts'
import { getMembers } from '../../../lib/json/is-object.ts'

/** The callbacks must not throw. */
export interface NamespaceObserver {
  /** The API server reports changes of the Kubernetes namespace from now on. */
  readonly onConnect: (namespace: string) => void
  /** A request failed; the last policies stay in force. */
  readonly onError: (namespace: string, error: KubernetesError) => void
}

interface WatchNamespaceOptions {
  readonly client: KubernetesClient
  readonly namespace: PolicyNamespace
  readonly observer: NamespaceObserver
  /** The resources changed, or only their status and metadata (`isContent` is false). Must not throw. */
  readonly onChange: (isContent: boolean) => void
  /** Delay after a failed request for the Kubernetes namespace. */
  readonly retryMs: number
}

export interface NamespaceWatch {
  /** Undefined before the first complete list, and until the Kubernetes namespace has been verified. */
  current(): NamespaceContent | undefined
  close(): void
}

/** Watches the policies of a Kubernetes namespace. They change only after its identity was verified. */
export function watchNamespace(options: WatchNamespaceOptions): NamespaceWatch {
  const { client, namespace, observer, onChange, retryMs } = options
  const { name } = namespace
  let current: NamespaceContent | undefined
  /** The newest resources, not verified yet. */
  let listed: readonly KubernetesObject[] = []
  let isVerifying = false
  let isStale = false
  let timer: NodeJS.Timeout | undefined
  const closing = new AbortController()
  const failing = new Set<'watch' | 'verification'>()

  function succeed(part: 'watch' | 'verification'): void {
    const hasFailed = failing.delete(part)
    if ((hasFailed || part === 'watch') && failing.size === 0) observer.onConnect(name)
  }

  function fail(part: 'watch' | 'verification', error: KubernetesError): void {
    failing.add(part)
    observer.onError(name, error)
  }

  function setCurrent(content: NamespaceContent): void {
    const isContent = current === undefined || describe(current) !== describe(content)
    current = content
    onChange(isContent)
  }

  function receive(resources: readonly KubernetesObject[]): void {
    listed = resources
    const isKnown = current !== undefined && describe({ ...current, resources: listed }) === describe(current)
    if (isKnown && current !== undefined && !isVerifying) setCurrent({ ...current, resources: listed })
    else verifyLater()
  }

  /**
   * A team must not hold back the start of gateways, nor keep grants by a list that is too large. Without the permission
   * to list, a Kubernetes namespace may have been deleted with its roles.
   */
  function failWatch(error: KubernetesError): void {
    fail('watch', error)
    if (namespace.platform) return
    const isForbidden = error.status === 403 || error.status === 404
    if (error.reason !== 'TooLarge' && !(isForbidden && current === undefined)) return
    listed = []
    isStale = isVerifying
    setCurrent({ namespace, resources: [], isReplaced: false })
  }

  function verifyLater(): void {
    isStale = true
    if (!isVerifying) void verify()
  }

  async function verify(): Promise<void> {
    clearTimeout(timer)
    isVerifying = true
    while (isStale && !closing.signal.aborted) {
      isStale = false
      await verifyOnce(listed)
    }
    isVerifying = false
  }

  async function verifyOnce(resources: readonly KubernetesObject[]): Promise<void> {
    try {
      const isReplaced = !(await isSameNamespace(client, namespace))
      if (closing.signal.aborted) return
      setCurrent({ namespace, resources, isReplaced })
      succeed('verification')
    } catch (error) {
      if (closing.signal.aborted) return
      // A deletion takes effect at once; what was added or changed waits.
      if (current !== undefined) setCurrent({ ...current, resources: keepPresent(current.resources, listed) })
      fail('verification', toKubernetesError(error))
      timer = setTimeout(verifyLater, retryMs).unref()
    }
  }

  const watch = watchResources({
    client,
    path: `/apis/${resourceApiVersion}/namespaces/${name}/${policyResourceName}`,
    onChange: receive,
    onError: failWatch,
    onConnect: () => succeed('watch'),
  })
  return {
    current: () => current,
    close() {
      closing.abort()
      clearTimeout(timer)
      watch.close()
    },
  }
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
  present: readonly KubernetesObject[],
): readonly KubernetesObject[] {
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
