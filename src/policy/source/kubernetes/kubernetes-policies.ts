import type { KubernetesObject } from '../../../lib/kubernetes/kubernetes-client.ts'
import { policyResourceName } from '../../language/api-version.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import { PolicyError } from '../../language/policy-error.ts'
import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'
import type { OpenDocumentSource } from '../policy-source.ts'
import { describeEach } from '../../language/policy-instance.ts'
import { listReservedGrants } from './delegation.ts'
import { createReviewer, listDocuments, type Review, type ReviewReason } from './review-resources.ts'
import { watchNamespaces, type NamespaceObserver, type WatchOptions } from './watch-namespaces.ts'

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

export interface KubernetesPolicyOptions extends Omit<
  WatchOptions,
  'observer' | 'load' | 'onLoadError' | 'onResources'
> {
  readonly vocabulary: PolicyVocabulary
  readonly observer: KubernetesPolicyObserver
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

  const review = createReviewer(options.vocabulary)
  return {
    open: (documents) =>
      watchNamespaces({
        ...options,
        async load(contents) {
          reviews = await review(contents)
          await documents.load(listDocuments(reviews))
        },
        onLoadError: (cause) =>
          documents.fail(new PolicyError([{ file: policyResourceName, message: String(cause) }])),
        onResources(resources) {
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
