import { KubernetesError } from './kubernetes-error.ts'
import type { KubernetesObject } from './kubernetes-object.ts'

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
