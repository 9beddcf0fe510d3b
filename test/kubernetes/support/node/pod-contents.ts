import type { ConfigMap, KeyToPath, Secret } from 'kubernetes-types/core/v1.js'
import { ApiError, type ApiClient } from '../api-client.ts'

/** What a pod needs and the API server does not have (yet). */
export class MissingContent extends Error {}

/** Reads the contents of a ConfigMap or Secret by key; nothing if it is missing and optional. */
export async function readContents(
  client: ApiClient,
  { namespace, kind, name = '', optional = false }: ContentSource,
): Promise<ReadonlyMap<string, Buffer>> {
  const path = `/api/v1/namespaces/${namespace}/${kind === 'ConfigMap' ? 'configmaps' : 'secrets'}/${name}`
  try {
    if (kind === 'Secret') return decode((await client.get<Secret>(path)).data, 'base64')
    const { data, binaryData } = await client.get<ConfigMap>(path)
    return new Map([...decode(data, 'utf8'), ...decode(binaryData, 'base64')])
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error
    if (optional) return new Map()
    throw new MissingContent(`${kind.toLowerCase()} "${name}" not found`)
  }
}

interface ContentSource {
  readonly namespace: string
  readonly kind: 'ConfigMap' | 'Secret'
  readonly name: string | undefined
  readonly optional?: boolean | undefined
}

/** The files of a volume: all keys, or those listed at their paths. */
export function selectItems(
  contents: ReadonlyMap<string, Buffer>,
  items: readonly KeyToPath[] | undefined,
  optional = false,
): ReadonlyMap<string, Buffer> {
  if (items === undefined) return contents
  const files = new Map<string, Buffer>()
  for (const { key, path } of items) {
    const content = contents.get(key)
    if (content !== undefined) files.set(path, content)
    else if (!optional) throw new MissingContent(`references non-existent key: ${key}`)
  }
  return files
}

function decode(
  data: Readonly<Record<string, string>> = {},
  encoding: 'base64' | 'utf8',
): ReadonlyMap<string, Buffer> {
  return new Map(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, encoding)]))
}
