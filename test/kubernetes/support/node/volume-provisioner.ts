import { join } from 'node:path'
import type { PersistentVolumeClaim } from 'kubernetes-types/core/v1.js'
import { startPolling, type Polling } from './polling.ts'
import type { ApiServer } from '../start-api-server.ts'

const provisioner = 'folders'
/** The first one is the default. */
const classNames = ['standard', 'fast']

/** The folder with the volumes of claims by name, which stay when their claims are deleted. */
export function volumesFolder(folder: string, namespace: string): string {
  return join(folder, 'volumes', namespace)
}

/** Creates storage classes, and a folder as the volume of each claim. */
export async function startVolumeProvisioner({ client, folder }: ApiServer): Promise<Polling> {
  const api = 'storage.k8s.io/v1'
  for (const name of classNames) {
    const isDefault = String(name === classNames[0])
    const annotations = { 'storageclass.kubernetes.io/is-default-class': isDefault }
    await client.apply({
      apiVersion: api,
      kind: 'StorageClass',
      metadata: { name, annotations },
      provisioner,
    })
  }
  const provisioned = new Set<string>()

  const provision = async ({ metadata, spec, status }: PersistentVolumeClaim) => {
    const { uid = '', namespace = '', name = '' } = metadata ?? {}
    if (
      status?.phase !== 'Pending' ||
      !classNames.includes(spec?.storageClassName ?? '') ||
      provisioned.has(uid)
    )
      return
    provisioned.add(uid)
    await client.apply({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `volume-${uid}` },
      spec: {
        capacity: { storage: spec?.resources?.requests?.['storage'] },
        accessModes: spec?.accessModes,
        storageClassName: spec?.storageClassName,
        persistentVolumeReclaimPolicy: 'Retain',
        hostPath: { path: join(volumesFolder(folder, namespace), name) },
        claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid },
      },
    })
  }

  const provisionClaims = async () => {
    const path = '/api/v1/persistentvolumeclaims'
    const { items } = await client.get<{ items: readonly PersistentVolumeClaim[] }>(path)
    for (const claim of items) await provision(claim)
  }

  return startPolling(provisionClaims)
}
