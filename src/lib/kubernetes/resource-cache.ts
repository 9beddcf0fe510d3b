import { z } from 'zod'
import type { KubernetesClient } from './kubernetes-client.ts'
import { KubernetesError } from './kubernetes-error.ts'
import { parseKubernetesObject, type KubernetesObject } from './kubernetes-object.ts'

interface Entry {
  readonly resource: KubernetesObject
  readonly length: number
}

/** Resources by namespace and name, with a limit on their total length as JSON. */
export class ResourceCache {
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
export async function listResources(
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
