import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createKey, readOrCreatePepper } from '../../src/identity/api-keys/key-store.ts'
import { hasOpenssl, makeAuthority } from '../identity/mtls/test-certificates.ts'
import { podsOf, type Container, type Manifest, type MountedKeys, type PodSpec } from './chart.ts'

/** Contents of Secrets or ConfigMaps by name and key. */
export type Contents = Readonly<Record<string, Readonly<Record<string, string>>>>

/** A container with its files in a folder that stands for its file system root. */
export interface MountedContainer {
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly container: Container
}

/** Writes the ConfigMaps, Secrets and annotations that a pod mounts to the folder. */
export async function mountPod(
  root: string,
  component: string,
  manifests: readonly Manifest[],
  secrets: Contents,
): Promise<MountedContainer> {
  const { pod, annotations = {} } = podsOf(manifests).find((each) => each.component === component) ?? {}
  const container = pod?.containers[0]
  if (pod === undefined || container === undefined) throw new Error(`there is no pod of a ${component}`)
  for (const { name, mountPath, subPath } of container.volumeMounts ?? []) {
    for (const [path, text] of Object.entries(filesOf(pod, name, { manifests, annotations, secrets }))) {
      if (subPath !== undefined && subPath !== path) continue
      const file = join(root, mountPath, subPath === undefined ? path : '.')
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, text)
    }
  }
  const args = container.args.map((word) => (word.startsWith('/') ? join(root, word) : word))
  return { args, environment: environmentOf(container, secrets), container }
}

interface Sources {
  readonly manifests: readonly Manifest[]
  readonly annotations: Readonly<Record<string, string>>
  readonly secrets: Contents
}

function pick(content: Readonly<Record<string, string>>, items: MountedKeys['items']) {
  if (items === undefined) return content
  return Object.fromEntries(items.map(({ key, path }) => [path, content[key] ?? missing(key)]))
}

function filesOf(
  { volumes = [] }: PodSpec,
  name: string,
  { manifests, annotations, secrets }: Sources,
): Readonly<Record<string, string>> {
  const { configMap, secret, downwardAPI } = volumes.find((volume) => volume.name === name) ?? {}
  if (secret) return pick(contentOf(secrets, secret.secretName), secret.items)
  if (downwardAPI) {
    return Object.fromEntries(
      downwardAPI.items.map(({ path, fieldRef: { fieldPath } }) => {
        const [, key = ''] = /^metadata\.annotations\['(.+)'\]$/.exec(fieldPath) ?? []
        return [path, annotations[key] ?? missing(fieldPath)]
      }),
    )
  }
  if (!configMap) return {}
  const maps = manifests.filter(({ kind }) => kind === 'ConfigMap')
  const ours = Object.fromEntries(maps.map(({ metadata, data = {} }) => [metadata.name, data]))
  return pick(contentOf({ ...configMapsOfOthers, ...ours }, configMap.name), configMap.items)
}

/** As in Kubernetes, `$(NAME)` in a value refers to an earlier variable. */
function environmentOf({ env = [] }: Container, secrets: Contents): Record<string, string> {
  const environment: Record<string, string> = {}
  for (const { name, value = '', valueFrom } of env) {
    const { secretKeyRef } = valueFrom ?? {}
    environment[name] = secretKeyRef
      ? (contentOf(secrets, secretKeyRef.name)[secretKeyRef.key] ?? missing(secretKeyRef.key))
      : value.replaceAll(/\$\((\w+)\)/g, (text, name: string) => environment[name] ?? text)
  }
  return environment
}

function contentOf(contents: Contents, name: string): Readonly<Record<string, string>> {
  return contents[name] ?? missing(name)
}

function missing(name: string): never {
  throw new Error(`there is no ${name}, which a pod wants`)
}

/** ConfigMaps that the values in `ci/` name. */
export const configMapsOfOthers: Contents = {
  authorities: { 'authorities.pem': '' },
  'denies-of-security': {},
  proxies: {},
  'policies-of-sales': {
    'readers.yaml': [
      'apiVersion: catalog-gateway/v1',
      'kind: AccessPolicy',
      'metadata: { name: sales-readers }',
      'namespace: [prod, sales]',
      'rules: [{ id: read, effect: allow, subjects: { groups: [readers] }, operations: [read] }]',
      '',
    ].join('\n'),
  },
}

/** Secrets that the values in `ci/` name, with valid contents; files are created in the folder. */
export async function secretsOf(folder: string): Promise<Contents> {
  const certificates = await certificatesIn(folder)
  const store = join(folder, 'keys.yaml')
  const pepper = join(folder, 'pepper')
  const { text: key } = await createKey(store, await readOrCreatePepper(pepper, store), {
    principal: 'ada',
    groups: [],
  })
  const secret = 'a secret of more than 32 characters'
  const token = 'the-token-of-the-catalog'
  return {
    'gateway-keys': { 'keys.yaml': await readFile(store, 'utf8'), pepper: await readFile(pepper, 'utf8') },
    'gateway-test-key': { 'api-key': key, key },
    'gateway-page-tokens': { secret, 'token-key': secret },
    'catalog-token': { token, 'access-token': token },
    'release-catalog-gateway-check': {
      'api-key': secret.replaceAll(' ', '-'),
      token,
    },
    'release-catalog-gateway-catalog-token': { token },
    'release-catalog-gateway-bootstrap-key': { 'api-key': secret.replaceAll(' ', '-') },
    'object-store': { AWS_ACCESS_KEY_ID: 'catalog', AWS_SECRET_ACCESS_KEY: secret },
    'catalog-postgres': { url: 'postgresql://catalog@127.0.0.1/x', uri: 'postgresql://catalog@127.0.0.1/x' },
    ...certificates,
  }
}

async function certificatesIn(folder: string): Promise<Contents> {
  const catalog = { token: 'the-token-of-the-catalog', authorization: 'Bearer the-token-of-the-catalog' }
  if (!hasOpenssl()) return { catalog }
  const authority = await makeAuthority(folder, 'authority')
  const { cert, key } = await authority.issue('gateway', 'DNS:release-catalog-gateway')
  return {
    catalog: { ...catalog, 'ca.crt': authority.cert },
    'gateway-tls': { 'tls.crt': cert, 'tls.key': key, 'ca.crt': authority.cert },
  }
}
