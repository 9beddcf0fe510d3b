import { setTimeout as sleep } from 'node:timers/promises'
import type { PolicyNamespace } from '../../../config/policy-settings.ts'
import type { KubernetesClient } from '../../../lib/kubernetes/kubernetes-client.ts'
import type { KubernetesObject } from '../../../lib/kubernetes/kubernetes-object.ts'
import { policyResourceName } from '../../language/api-version.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import { PolicyError } from '../../language/policy-error.ts'
import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'
import type { OpenDocumentSource } from '../policy-source.ts'
import { describeEach } from '../../language/policy-instance.ts'
import { listReservedGrants } from './delegation.ts'
import { createReviewer, listDocuments, type Review, type ReviewReason } from './review-resources.ts'
import { watchNamespace, type NamespaceObserver } from './watch-namespace.ts'

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
interface KubernetesPolicyObserver extends NamespaceObserver {
  /** Called with the results of all present resources, whenever these or their results may have changed. */
  readonly onResults: (results: readonly ResourceResult[]) => void
}

export interface KubernetesPolicyOptions {
  readonly client: KubernetesClient
  readonly namespaces: readonly PolicyNamespace[]
  readonly vocabulary: PolicyVocabulary
  readonly observer: KubernetesPolicyObserver
  /** How long the first complete list may take; default 30 s. */
  readonly startTimeoutMs?: number
  /** Delay after a failed request for a Kubernetes namespace; default 2 s. */
  readonly retryMs?: number
  /** Length of the pause after an update, in units of its duration, but at least 1 s; default 4. */
  readonly pausesPerUpdate?: number
}

export interface KubernetesPolicies {
  /** Rejects with PolicyError if a Kubernetes namespace cannot be listed in time. */
  readonly open: OpenDocumentSource
  /** Receives all documents in force after each change: whether a grant has an effect depends on all of them. */
  setInForce(documents: readonly PolicyDocument[]): void
}

/** Watches the policies in Kubernetes namespaces. Each is in force if it is accepted, whatever the others are. */
export function createKubernetesPolicies(options: KubernetesPolicyOptions): KubernetesPolicies {
  const { observer } = options
  /** Undefined before the first complete list. */
  let reviews: readonly Review[] | undefined
  /** The newest resources, by uid. */
  let newest: ReadonlyMap<string, KubernetesObject> = new Map()
  let reserving: readonly PolicyDocument[] = []

  function report(): void {
    if (reviews === undefined) return
    observer.onResults(
      reviews.flatMap((review) => {
        const resource = newest.get(review.resource.metadata.uid)
        return resource === undefined ? [] : [{ ...createResult(review, reserving), resource }]
      }),
    )
  }

  return {
    open: (documents) =>
      openWatches(options, {
        async load(reviewed) {
          reviews = reviewed
          await documents.load(listDocuments(reviewed))
        },
        fail: (cause) =>
          documents.fail(new PolicyError([{ file: policyResourceName, message: String(cause) }])),
        see(resources) {
          newest = new Map(resources.map((resource) => [resource.metadata.uid, resource]))
          report()
        },
      }),
    setInForce(documents) {
      reserving = documents.filter(({ final }) => final.size > 0)
      report()
    },
  }
}

const minPauseMs = 1_000

interface ReviewObserver {
  load(reviews: readonly Review[]): Promise<void>
  fail(cause: unknown): void
  /** Receives all present resources after each change. */
  see(resources: readonly KubernetesObject[]): void
}

/** Resolves when all Kubernetes namespaces are listed and loaded. Rejects with PolicyError if that takes too long. */
async function openWatches(
  options: KubernetesPolicyOptions,
  reviews: ReviewObserver,
): Promise<{ close: () => void }> {
  const {
    client,
    namespaces,
    vocabulary,
    observer,
    startTimeoutMs = 30_000,
    retryMs = 2_000,
    pausesPerUpdate = 4,
  } = options
  const review = createReviewer(vocabulary)
  const lastErrors = new Map<string, string>()
  const loaded = new AbortController()
  const closing = new AbortController()
  let isStale = false
  let isRunning = false
  let lastFailure: string | undefined

  async function update(): Promise<void> {
    const reviewed = await review(watches.flatMap((watch) => watch.current() ?? []))
    if (closing.signal.aborted) return
    await reviews.load(reviewed)
    loaded.abort()
  }

  /**
   * Runs one update after the other, so that an older one cannot replace a newer one. Pauses after each, so that somebody
   * who edits a policy all the time does not keep the gateway busy.
   */
  async function run(): Promise<void> {
    isRunning = true
    while (isStale && !closing.signal.aborted) {
      isStale = false
      const startedAt = performance.now()
      await update().then(
        () => (lastFailure = undefined),
        (cause: unknown) => {
          isStale = true
          if (String(cause) !== lastFailure) reviews.fail(cause)
          lastFailure = String(cause)
        },
      )
      const pauseMs = Math.max(minPauseMs, (performance.now() - startedAt) * pausesPerUpdate)
      await sleep(pauseMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)
    }
    isRunning = false
  }

  function change(isContent: boolean): void {
    reviews.see(watches.flatMap((watch) => watch.current()?.resources ?? []))
    if (!isContent) return
    if (watches.some((watch) => watch.current() === undefined)) return
    isStale = true
    if (!isRunning) void run()
  }

  const watches = namespaces.map((namespace) =>
    watchNamespace({
      client,
      namespace,
      retryMs,
      onChange: change,
      observer: {
        onConnect: observer.onConnect,
        onError(name, error) {
          lastErrors.set(name, error.message)
          observer.onError(name, error)
        },
      },
    }),
  )
  function close(): void {
    closing.abort()
    for (const watch of watches) watch.close()
  }
  const isLate = await sleep(startTimeoutMs, true, { signal: loaded.signal }).catch(() => false)
  if (!isLate) return { close }
  close()
  const missing = namespaces.filter((_, index) => watches[index]?.current() === undefined)
  const time = `within ${startTimeoutMs} ms`
  if (missing.length === 0) {
    const message = `cannot be loaded ${time}: ${lastFailure ?? 'too much to do'}`
    throw new PolicyError([{ file: policyResourceName, message }])
  }
  throw new PolicyError(
    missing.map(({ name }) => ({
      file: `${policyResourceName}/${name}`,
      message: `cannot be listed ${time}: ${lastErrors.get(name) ?? 'the API server does not respond'}`,
    })),
  )
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
