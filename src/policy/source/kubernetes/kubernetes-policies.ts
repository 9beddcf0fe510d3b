import { setTimeout as sleep } from 'node:timers/promises'
import type { PolicyNamespace } from '../../../config/index.ts'
import { getMembers } from '../../../lib/index.ts'
import {
  type KubernetesClient,
  KubernetesError,
  type KubernetesObject,
  watchResources,
  type WatchTiming,
} from '../../../kubernetes/index.ts'
import { PolicyError, policyResourceName, resourceApiVersion } from '../../language/policy-document.ts'
import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'
import type { OpenDocumentSource } from '../policy-source.ts'
import {
  createReviewer,
  isTerminating,
  listDocuments,
  type NamespaceContent,
  type Review,
} from './review-resources.ts'

/** How the gateway applies one resource. All readers of the resource can see the messages. */
export interface ResourceResult extends Pick<Review, 'reason' | 'message'> {
  /** The newest one. */
  readonly resource: KubernetesObject
  /** The generation that the result is about: that of the resource, or an older one. */
  readonly generation: number
}

/** The callbacks must not throw. */
interface KubernetesPolicyOptions {
  readonly client: KubernetesClient
  readonly namespaces: readonly PolicyNamespace[]
  readonly vocabulary: PolicyVocabulary
  /** The API server reports changes of the Kubernetes namespace from now on. */
  readonly onConnect: (namespace: string) => void
  /** A request failed; the last policies stay in force. */
  readonly onError: (namespace: string, error: KubernetesError) => void
  /** Called with the results of all present resources, whenever these or their results may have changed. */
  readonly onResults: (results: readonly ResourceResult[]) => void
  /** How long the first complete load may take; default 30 s. */
  readonly startTimeoutMs?: number | undefined
  readonly timing?: WatchTiming
}

interface Watched {
  readonly namespace: PolicyNamespace
  readonly review: ReturnType<typeof createReviewer>
  /** Undefined until the Kubernetes namespace was listed. Empty for a delegated one whose list is too large or forbidden. */
  content: NamespaceContent | undefined
  lastError: string
}

/**
 * Returns the source of the policies in Kubernetes namespaces. Each is in force if it is accepted, even if others are not.
 * Opening the source rejects with PolicyError if a Kubernetes namespace cannot be listed in time.
 */
export function watchKubernetesPolicies(options: KubernetesPolicyOptions): OpenDocumentSource {
  const { client, startTimeoutMs = 30_000 } = options
  return async (documents) => {
    const watched = options.namespaces.map((namespace): Watched => {
      const review = createReviewer(namespace, options.vocabulary)
      return { namespace, review, content: undefined, lastError: 'the API server does not respond' }
    })
    const loaded = new AbortController()
    const closing = new AbortController()
    /** By uid. */
    let reviews: ReadonlyMap<string, Review> = new Map()
    let loadedContent: string | undefined

    function report(): void {
      const present = watched.flatMap(({ content }) => content?.resources ?? [])
      options.onResults(
        present.flatMap((resource) => {
          const review = reviews.get(resource.metadata.uid)
          return review ? [{ ...review, resource, generation: review.resource.metadata.generation }] : []
        }),
      )
    }

    /**
     * Loads changed policies. Then pauses for four times as long, at least a second, so that constant edits of a policy do not
     * keep the gateway busy.
     */
    async function load(): Promise<void> {
      const ready = watched.flatMap(({ review, content }) =>
        content === undefined ? [] : [{ review, content }],
      )
      const described = JSON.stringify(ready.map(({ content }) => describe(content)))
      if (closing.signal.aborted || ready.length < watched.length || described === loadedContent) return
      const startedAt = performance.now()
      try {
        const found = (await Promise.all(ready.map(({ review, content }) => review(content)))).flat()
        reviews = new Map(found.map((review) => [review.resource.metadata.uid, review]))
        await documents.load(listDocuments(found))
        loadedContent = described
        report()
        loaded.abort()
      } catch (cause) {
        // Tried again with the next list.
        const message = String(cause)
        for (const one of watched) one.lastError = message
        documents.fail(new PolicyError([{ file: policyResourceName, message }]))
      }
      const pauseMs = Math.max(1_000, 4 * (performance.now() - startedAt))
      await sleep(pauseMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)
    }

    // One after the other, so that an older load cannot replace a newer one.
    let lastLoad = Promise.resolve()
    function setContent(one: Watched, content: NamespaceContent): void {
      one.content = content
      report()
      lastLoad = lastLoad.then(load)
    }

    async function receive(one: Watched, resources: readonly KubernetesObject[]): Promise<void> {
      const { namespace, content } = one
      // A deletion takes effect even if the identity of the Kubernetes namespace cannot be verified.
      const reduced = content && { ...content, resources: applyDeletions(content.resources, resources) }
      if (reduced && describe(reduced) !== describe(content)) setContent(one, reduced)
      const uid = namespace.uid && (await readUid(client, namespace.name))
      if (!closing.signal.aborted) setContent(one, { resources, uid })
    }

    /**
     * A team must not hold back the start of gateways, nor keep grants by a list that is too large. Without the permission
     * to list, a Kubernetes namespace may have been deleted with its roles.
     */
    function fail(one: Watched, error: KubernetesError): void {
      const { namespace, content } = one
      one.lastError = error.message
      options.onError(namespace.name, error)
      const isForbidden = error.status === 403 || error.status === 404
      if (namespace.platform || !(error.status === 413 || (isForbidden && content === undefined))) return
      setContent(one, { resources: [], uid: namespace.uid })
    }

    const { signal } = closing
    for (const one of watched) {
      void watchResources({
        client,
        path: `/apis/${resourceApiVersion}/namespaces/${one.namespace.name}/${policyResourceName}`,
        onList: (resources) => receive(one, resources),
        onError: (error) => fail(one, error),
        onConnect: () => options.onConnect(one.namespace.name),
        timing: options.timing,
        signal,
      })
    }
    const isLate = await sleep(startTimeoutMs, true, { signal: loaded.signal }).catch(() => false)
    if (isLate) {
      closing.abort()
      const missing = watched.filter(({ content }) => content === undefined)
      throw new PolicyError(
        (missing.length > 0 ? missing : watched).map(({ namespace, lastError }) => ({
          file: `${policyResourceName}/${namespace.name}`,
          message: `cannot be loaded within ${startTimeoutMs} ms: ${lastError}`,
        })),
      )
    }
    return { close: () => closing.abort() }
  }
}

/** Equal for equal policies, with any status. */
function describe({ resources, uid: uidOfNamespace }: NamespaceContent): string {
  const versions = resources.map(
    ({ metadata: { uid, generation, deletionTimestamp = '' } }) =>
      `${uid} ${generation} ${deletionTimestamp}`,
  )
  return JSON.stringify([uidOfNamespace, ...versions.toSorted()])
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

/** Reads the uid of a Kubernetes namespace; undefined if it does not exist. Rejects with KubernetesError. */
async function readUid(client: KubernetesClient, name: string): Promise<unknown> {
  const namespace = await client.get(`/api/v1/namespaces/${name}`).catch((error: unknown) => {
    if (!(error instanceof KubernetesError && error.status === 404)) throw error
  })
  return getMembers(getMembers(namespace)['metadata'])['uid']
}
