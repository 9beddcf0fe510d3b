import type { Container, EnvVarSource, Pod } from 'kubernetes-types/core/v1.js'
import type { ApiClient } from '../api-client.ts'
import { toLoopback } from './loopback-address.ts'
import { MissingContent, readContents } from './pod-contents.ts'
import { namesOf, readField } from './pod-fields.ts'

interface EnvironmentOptions {
  readonly pod: Pod
  readonly address: string
  /** What the image and the node set. */
  readonly defaults: Readonly<Record<string, string>>
  readonly client: ApiClient
}

/** Composes the environment of a container. Rejects with `MissingContent` as long as something is missing. */
export async function createEnvironment(
  { env = [], envFrom = [] }: Container,
  options: EnvironmentOptions,
): Promise<Readonly<Record<string, string>>> {
  const { namespace } = namesOf(options.pod)
  const environment: Record<string, string> = { ...options.defaults }
  for (const { configMapRef, secretRef, prefix = '' } of envFrom) {
    const kind = configMapRef ? 'ConfigMap' : 'Secret'
    const contents = await readContents(options.client, {
      namespace,
      kind,
      name: '',
      ...(configMapRef ?? secretRef),
    })
    for (const [key, content] of contents) environment[`${prefix}${key}`] = content.toString()
  }
  for (const { name, value = '', valueFrom } of env) {
    if (valueFrom === undefined) environment[name] = expand(value, environment)
    else {
      const found = await readSource(valueFrom, options)
      if (found !== undefined) environment[name] = found
    }
  }
  return environment
}

/** `$(NAME)` refers to an earlier variable; `$$` stands for `$`. */
export function expand(text: string, environment: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\$|\$\(([^)]+)\)/g, (found, name?: string) =>
    name === undefined ? '$' : (environment[name] ?? found),
  )
}

async function readSource(
  { configMapKeyRef, secretKeyRef, fieldRef }: EnvVarSource,
  { pod, address, client }: EnvironmentOptions,
): Promise<string | undefined> {
  if (fieldRef) return readField(pod, toLoopback(address), fieldRef.fieldPath)
  const reference = configMapKeyRef ?? secretKeyRef
  if (reference === undefined) throw new Error('the node does not know this source of a variable')
  const { namespace } = namesOf(pod)
  const kind = configMapKeyRef ? 'ConfigMap' : 'Secret'
  const contents = await readContents(client, { namespace, kind, name: '', ...reference })
  const content = contents.get(reference.key)
  if (content === undefined && !reference.optional) {
    throw new MissingContent(
      `couldn't find key ${reference.key} in ${kind} ${namespace}/${reference.name ?? ''}`,
    )
  }
  return content?.toString()
}
