import { z } from 'zod'
import type { KubernetesClient } from './kubernetes-client.ts'
import { KubernetesError } from './kubernetes-error.ts'
import { parseKubernetesObject } from './kubernetes-object.ts'
import { ResourceCache } from './resource-cache.ts'

/** Bounds the size of a response, which is parsed in one go. */
const pageLimit = 50

const pageSchema = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string().min(1), continue: z.string().optional() }),
  items: z.array(z.unknown()),
})

export interface ResourceList {
  readonly resources: ResourceCache
  /** A watch from this version has all later changes. */
  readonly resourceVersion: string
}

/** Lists a collection completely, in pages, as it is now. Rejects with KubernetesError. */
export async function listResources(
  client: KubernetesClient,
  path: string,
  { maxTotalLength, signal }: { readonly maxTotalLength: number; readonly signal: AbortSignal },
): Promise<ResourceList> {
  const resources = new ResourceCache(maxTotalLength)
  let resourceVersion: string | undefined
  let token: string | undefined
  do {
    const query = { limit: pageLimit, ...(token !== undefined && { continue: token }) }
    const { metadata, items } = parsePage(await client.get(path, query, signal))
    for (const item of items) resources.set(parseKubernetesObject(item))
    resourceVersion ??= metadata.resourceVersion
    token = metadata.continue === '' ? undefined : metadata.continue
  } while (token !== undefined)
  return { resources, resourceVersion }
}

function parsePage(content: unknown): z.output<typeof pageSchema> {
  const page = pageSchema.safeParse(content)
  if (page.success) return page.data
  throw new KubernetesError('Malformed', 'the API server sent a list without items or resourceVersion')
}
