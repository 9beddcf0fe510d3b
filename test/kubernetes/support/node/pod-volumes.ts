import { chmod, chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TokenRequest } from 'kubernetes-types/authentication/v1.js'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
  Volume,
  VolumeProjection,
} from 'kubernetes-types/core/v1.js'
import type { ApiClient } from '../api-client.ts'
import { writeVolume, type VolumeFiles } from './atomic-writer.ts'
import { MissingContent, readContents, selectItems } from './pod-contents.ts'
import { namesOf, pathOf, readField } from './pod-fields.ts'

interface Options {
  readonly pod: Pod
  readonly address: string
  readonly client: ApiClient
  readonly folder: string
}

interface Token {
  readonly text: string
  readonly renewAt: number
}

/** The volumes of a pod, as folders. */
export class PodVolumes {
  readonly #options: Options
  readonly #written = new Map<string, string>()
  readonly #tokens = new Map<string, Token>()

  constructor(options: Options) {
    this.#options = options
  }

  /** Creates all volumes, or updates those whose contents have changed. Rejects with `MissingContent`. */
  async update(): Promise<void> {
    for (const volume of this.#options.pod.spec?.volumes ?? []) {
      const files = await this.#filesOf(volume)
      if (files !== undefined) await this.#write(volume, files)
    }
  }

  /** Resolves with the folder of a volume. */
  async folderOf(name: string): Promise<string> {
    const { pod, folder, client } = this.#options
    const volume = pod.spec?.volumes?.find((volume) => volume.name === name)
    if (volume === undefined) throw new Error(`the pod has no volume ${name}`)
    if (volume.persistentVolumeClaim) return this.#claimed(volume.persistentVolumeClaim.claimName, client)
    const path = join(folder, name)
    if (volume.emptyDir) await this.#makeFolder(path)
    return path
  }

  async #write(volume: Volume, files: VolumeFiles): Promise<void> {
    const text = JSON.stringify([...files].map(([path, content]) => [path, content.toString('base64')]))
    if (this.#written.get(volume.name) === text) return
    const { configMap, secret, downwardAPI, projected } = volume
    const mode = (configMap ?? secret ?? downwardAPI ?? projected)?.defaultMode ?? 0o644
    const path = join(this.#options.folder, volume.name)
    await writeVolume(path, files, { mode, group: this.#group() })
    this.#written.set(volume.name, text)
  }

  async #filesOf({ name, ...volume }: Volume): Promise<VolumeFiles | undefined> {
    const { configMap, secret, downwardAPI, projected, emptyDir, persistentVolumeClaim } = volume
    if (emptyDir ?? persistentVolumeClaim) return undefined
    const { client, pod } = this.#options
    const { namespace } = namesOf(pod)
    if (configMap) {
      const contents = await readContents(client, { namespace, kind: 'ConfigMap', name: '', ...configMap })
      return selectItems(contents, configMap.items, configMap.optional)
    }
    if (secret) {
      const { secretName, optional, items } = secret
      const contents = await readContents(client, { namespace, kind: 'Secret', name: secretName, optional })
      return selectItems(contents, items, optional)
    }
    if (downwardAPI) return this.#projection({ downwardAPI })
    if (projected) return this.#projected(projected)
    throw new Error(`the node does not know the kind of the volume ${name}`)
  }

  async #projected({ sources = [] }: ProjectedVolumeSource): Promise<VolumeFiles> {
    const files = new Map<string, Buffer>()
    for (const source of sources) {
      for (const [path, content] of await this.#projection(source)) files.set(path, content)
    }
    return files
  }

  async #projection(source: VolumeProjection): Promise<VolumeFiles> {
    const { client, pod, address } = this.#options
    const { namespace } = namesOf(pod)
    const { configMap, secret, downwardAPI, serviceAccountToken } = source
    if (serviceAccountToken) {
      return new Map([[serviceAccountToken.path, Buffer.from(await this.#token(serviceAccountToken))]])
    }
    if (downwardAPI) {
      const items = downwardAPI.items ?? []
      return new Map(
        items.map(({ path, fieldRef }) => [path, Buffer.from(readField(pod, address, fieldRef?.fieldPath))]),
      )
    }
    const reference = configMap ?? secret
    if (reference === undefined) throw new Error('the node does not know this projection')
    const kind = configMap ? 'ConfigMap' : 'Secret'
    const contents = await readContents(client, { namespace, kind, name: '', ...reference })
    return selectItems(contents, reference.items, reference.optional)
  }

  /** A token bound to the pod. It is renewed after four fifths of its life. */
  async #token({ path, audience, expirationSeconds }: ServiceAccountTokenProjection): Promise<string> {
    const known = this.#tokens.get(path)
    if (known !== undefined && known.renewAt > Date.now()) return known.text
    const { client, pod } = this.#options
    const { namespace, name, uid } = namesOf(pod)
    const account = pod.spec?.serviceAccountName ?? 'default'
    const { status } = await client.post<TokenRequest>(
      `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: {
          ...(audience !== undefined && { audiences: [audience] }),
          expirationSeconds: expirationSeconds ?? 3_600,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
        },
      },
    )
    const lifeMs = Date.parse(status?.expirationTimestamp ?? '') - Date.now()
    const text = status?.token ?? ''
    this.#tokens.set(path, { text, renewAt: Date.now() + 0.8 * lifeMs })
    return text
  }

  async #claimed(claimName: string, client: ApiClient): Promise<string> {
    const { namespace } = namesOf(this.#options.pod)
    const claim = await client.get<PersistentVolumeClaim>(
      `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${claimName}`,
    )
    const volumeName = claim.spec?.volumeName
    if (claim.status?.phase !== 'Bound' || volumeName === undefined) {
      throw new MissingContent(`claim ${claimName} of ${pathOf(namesOf(this.#options.pod))} is not bound`)
    }
    const volume = await client.get<PersistentVolume>(`/api/v1/persistentvolumes/${volumeName}`)
    const path = volume.spec?.hostPath?.path
    if (path === undefined) throw new Error(`the node does not know the kind of ${volumeName}`)
    await this.#makeFolder(path)
    return path
  }

  async #makeFolder(path: string): Promise<void> {
    await mkdir(path, { recursive: true })
    const group = this.#group()
    if (group !== undefined) await chown(path, 0, group)
    await chmod(path, group === undefined ? 0o777 : 0o2775)
  }

  #group(): number | undefined {
    return this.#options.pod.spec?.securityContext?.fsGroup
  }
}
