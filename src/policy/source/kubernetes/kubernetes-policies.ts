import { setTimeout as sleep } from 'node:timers/promises'
import type { PolicyNamespace } from '../../../config/index.ts'
import { getMembers } from '../../../lib/json/json-values.ts'
import {
  type KubernetesClient,
  KubernetesError,
  type KubernetesObject,
} from '../../../lib/kubernetes/kubernetes-client.ts'
import { watchResources, type WatchTiming } from '../../../lib/kubernetes/watch-resources.ts'
import { policyResourceName, resourceApiVersion } from '../../language/api-version.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import { PolicyError } from '../../language/policy-error.ts'
import { describeEach } from '../../language/policy-instance.ts'
import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'
import type { DocumentObserver, OpenDocumentSource } from '../policy-source.ts'
import { listReservedGrants } from './delegation.ts'
import {
  createReviewer,
  isTerminating,
  listDocuments,
  type NamespaceContent,
  type Review,
  type ReviewReason,
} from './review-resources.ts'

/** `Reserved`: a policy of the platform reserves an operation that the resource grants, so it is not granted. */
type ConflictReason = 'NoConflict' | 'Reserved'

/** How the gateway applies one resource. The messages are shown to everybody who may read the resource. */
export interface ResourceResult {
  /** The newest one. */
  readonly resource: KubernetesObject
  /** The generation that the result is about: that of the resource, or an older one. */
  readonly generation: number
  readonly accepted: { readonly reason: ReviewReason; readonly message: string }
  readonly conflict: { readonly reason: ConflictReason; readonly message: string }
}

/** The callbacks must not throw. */
interface KubernetesPolicyObserver {
  /** The API server reports changes of the Kubernetes namespace from now on. */
  readonly onConnect: (namespace: string) => void
  /** A request failed; the last policies stay in force. */
  readonly onError: (namespace: string, error: KubernetesError) => void
  /** Called with the results of all present resources, whenever these or their results may have changed. */
  readonly onResults: (results: readonly ResourceResult[]) => void
}

export interface KubernetesPolicyOptions {
  readonly client: KubernetesClient
  readonly namespaces: readonly PolicyNamespace[]
  readonly vocabulary: PolicyVocabulary
  readonly observer: KubernetesPolicyObserver
  /** How long the first complete load may take; default 30 s. */
  readonly startTimeoutMs?: number | undefined
  readonly timing?: WatchTiming
  /** Length of the pause after a load, in units of its duration, but at least 1 s; default 4. */
  readonly pausesPerUpdate?: number | undefined
}

export interface KubernetesPolicies {
  /** Rejects with PolicyError if a Kubernetes namespace cannot be listed in time. */
  readonly open: OpenDocumentSource
  /** Receives all documents in force after each change: whether a grant has an effect depends on all of them. */
  setInForce(documents: readonly PolicyDocument[]): void
}

const minPauseMs = 1_000

/** A Kubernetes namespace that is watched. */
interface Watched {
  readonly namespace: PolicyNamespace
  /** What counts; undefined until the Kubernetes namespace was listed and its identity verified. */
  content: NamespaceContent | undefined
  lastError: string | undefined
}

/** Watches the policies in Kubernetes namespaces. Each is in force if it is accepted, whatever the others are. */
export function createKubernetesPolicies(options: KubernetesPolicyOptions): KubernetesPolicies {
  const { client, observer, startTimeoutMs = 30_000, pausesPerUpdate = 4 } = options
  const review = createReviewer(options.vocabulary)
  const watched = options.namespaces.map((namespace): Watched => {
    return { namespace, content: undefined, lastError: undefined }
  })
  /** Undefined before the first load. */
  let reviews: readonly Review[] | undefined
  let reserving: readonly PolicyDocument[] = []

  function report(): void {
    if (reviews === undefined) return
    const present = watched.flatMap(({ content }) => content?.resources ?? [])
    const newest = new Map(present.map((resource) => [resource.metadata.uid, resource]))
    observer.onResults(
      reviews.flatMap((each) => {
        const resource = newest.get(each.resource.metadata.uid)
        return resource === undefined ? [] : [{ ...createResult(each, reserving), resource }]
      }),
    )
  }

  async function open(documents: DocumentObserver): Promise<{ close: () => void }> {
    const loaded = new AbortController()
    const closing = new AbortController()
    let loadedContent: string | undefined
    let lastFailure: string | undefined
    let isStale = false
    let isRunning = false

    async function loadChanges(): Promise<void> {
      const contents = watched.flatMap(({ content }) => content ?? [])
      const described = JSON.stringify(contents.map(describe))
      if (contents.length < watched.length || described === loadedContent) return
      reviews = await review(contents)
      await documents.load(listDocuments(reviews))
      loadedContent = described
      loaded.abort()
    }

    /**
     * Runs one load after the other, so that an older one cannot replace a newer one. Pauses after each, so that somebody
     * who edits a policy all the time does not keep the gateway busy.
     */
    async function loadWhileStale(): Promise<void> {
      isRunning = true
      while (isStale && !closing.signal.aborted) {
        isStale = false
        const startedAt = performance.now()
        const before = loadedContent
        try {
          await loadChanges()
          lastFailure = undefined
        } catch (cause) {
          isStale = true
          const message = String(cause)
          if (message !== lastFailure)
            documents.fail(new PolicyError([{ file: policyResourceName, message }]))
          lastFailure = message
        }
        if (loadedContent === before && !isStale) continue
        const pauseMs = Math.max(minPauseMs, (performance.now() - startedAt) * pausesPerUpdate)
        await sleep(pauseMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)
      }
      isRunning = false
    }

    function setContent(one: Watched, content: NamespaceContent): void {
      one.content = content
      report()
      isStale = true
      if (!isRunning) void loadWhileStale()
    }

    async function receive(one: Watched, resources: readonly KubernetesObject[]): Promise<void> {
      const { namespace, content } = one
      // A deletion takes effect even if the identity of the Kubernetes namespace cannot be verified.
      const reduced = content && { ...content, resources: applyDeletions(content.resources, resources) }
      if (reduced && describe(reduced) !== describe(content)) setContent(one, reduced)
      const isReplaced = !(await isSameNamespace(client, namespace))
      if (!closing.signal.aborted) setContent(one, { namespace, resources, isReplaced })
    }

    /**
     * A team must not hold back the start of gateways, nor keep grants by a list that is too large. Without the permission
     * to list, a Kubernetes namespace may have been deleted with its roles.
     */
    function fail(one: Watched, error: KubernetesError): void {
      const { namespace, content } = one
      one.lastError = error.message
      observer.onError(namespace.name, error)
      const isForbidden = error.status === 403 || error.status === 404
      if (namespace.platform || !(error.status === 413 || (isForbidden && content === undefined))) return
      setContent(one, { namespace, resources: [], isReplaced: false })
    }

    const watches = watched.map((one) =>
      watchResources({
        client,
        path: `/apis/${resourceApiVersion}/namespaces/${one.namespace.name}/${policyResourceName}`,
        onList: (resources) => receive(one, resources),
        onError: (error) => fail(one, error),
        onConnect: () => observer.onConnect(one.namespace.name),
        timing: options.timing,
      }),
    )
    function close(): void {
      closing.abort()
      for (const watch of watches) watch.close()
    }
    const isLate = await sleep(startTimeoutMs, true, { signal: loaded.signal }).catch(() => false)
    if (!isLate) return { close }
    close()
    throw createStartError(watched, startTimeoutMs, lastFailure)
  }

  return {
    open,
    setInForce(documents) {
      reserving = documents.filter(({ final }) => final.size > 0)
      report()
    },
  }
}

function createStartError(
  watched: readonly Watched[],
  timeoutMs: number,
  lastFailure = 'too much to do',
): PolicyError {
  const missing = watched
    .filter(({ content }) => content === undefined)
    .map(({ namespace, lastError = 'the API server does not respond' }) => ({
      file: `${policyResourceName}/${namespace.name}`,
      message: `cannot be listed within ${timeoutMs} ms: ${lastError}`,
    }))
  const message = `cannot be loaded within ${timeoutMs} ms: ${lastFailure}`
  return new PolicyError(missing.length > 0 ? missing : [{ file: policyResourceName, message }])
}

/** Equal for equal policies, whatever their status. */
function describe({ resources, isReplaced }: NamespaceContent): string {
  const versions = resources.map(
    ({ metadata: { uid, generation, deletionTimestamp = '' } }) =>
      `${uid} ${generation} ${deletionTimestamp}`,
  )
  return JSON.stringify([isReplaced, ...versions.toSorted()])
}

/** Returns the resources without those that are missing from `newest`, and those that are being deleted as they are there. */
function applyDeletions(
  resources: readonly KubernetesObject[],
  newest: readonly KubernetesObject[],
): readonly KubernetesObject[] {
  const present = new Map(newest.map((resource) => [resource.metadata.uid, resource]))
  return resources.flatMap((resource) => {
    const found = present.get(resource.metadata.uid)
    return found === undefined ? [] : [isTerminating(found) ? found : resource]
  })
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

function createResult(
  { resource, reason, message, documents = [] }: Review,
  reserving: readonly PolicyDocument[],
): ResourceResult {
  const accepted = reason === 'Accepted' ? documents : []
  const reserved = describeEach(accepted, (document) => listReservedGrants(document, reserving))
  return {
    resource,
    generation: resource.metadata.generation,
    accepted: { reason, message },
    conflict:
      reserved.length === 0
        ? { reason: 'NoConflict', message: 'no policy reserves what this one grants' }
        : {
            reason: 'Reserved',
            message: `the platform reserves operations (final), so these grants have no effect: ${reserved.join('; ')}`,
          },
  }
}
