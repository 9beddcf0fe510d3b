import type { Pod } from 'kubernetes-types/core/v1.js'
import { toLoopback } from './loopback-address.ts'

/** The names of a pod; an API server sets them all. */
export interface PodNames {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export function namesOf({ metadata }: Pod): PodNames {
  const { namespace, name, uid } = metadata ?? {}
  if (namespace === undefined || name === undefined || uid === undefined)
    throw new Error('a pod without names')
  return { namespace, name, uid }
}

export function pathOf({ namespace, name }: PodNames): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`
}

/** Resolves a `fieldRef` of the downward API. */
export function readField(pod: Pod, address: string, path = ''): string {
  const { metadata = {}, spec } = pod
  const [, map, key = ''] = /^metadata\.(annotations|labels)\['(.+)'\]$/.exec(path) ?? []
  if (map !== undefined) return (map === 'labels' ? metadata.labels : metadata.annotations)?.[key] ?? ''
  switch (path) {
    case 'metadata.name':
      return metadata.name ?? ''
    case 'metadata.namespace':
      return metadata.namespace ?? ''
    case 'metadata.uid':
      return metadata.uid ?? ''
    case 'spec.nodeName':
      return spec?.nodeName ?? ''
    case 'spec.serviceAccountName':
      return spec?.serviceAccountName ?? ''
    case 'status.podIP':
      return toLoopback(address)
    default:
      throw new Error(`the node does not know the field ${path}`)
  }
}
