import { onTestFinished } from 'vitest'
import type { KubernetesError, KubernetesObject } from '../../../../src/kubernetes/kubernetes-client.ts'
import type { ResourceResult } from '../../../../src/policy/source/kubernetes/kubernetes-policies.ts'
import { createStatusWriter } from '../../../../src/policy/source/kubernetes/status-writer.ts'
import {
  sendJson,
  startScriptedApiServer,
  type ReceivedRequest,
  type Script,
} from '../../../lib/kubernetes/scripted-api-server.ts'

/** Reports to a scripted API server. */
export async function openWriter(script: Script = storeStatus, intervalMs = 60_000) {
  const server = await startScriptedApiServer(script)
  const errors: KubernetesError[] = []
  const writer = createStatusWriter({
    client: server.client,
    onError: (error) => errors.push(error),
    intervalMs,
  })
  onTestFinished(() => writer.close())
  return { ...server, writer, errors }
}

/** Responds with the resource that has the status, in another version. */
export const storeStatus: Script = (request, response) => {
  const name = request.path.split('/').at(-2) ?? ''
  const { status } = request.body as { readonly status: object }
  sendJson(createPolicy(name, { resourceVersion: '11' }, status))(request, response)
}

/** Names of the resources whose status was written, in alphabetical order. */
export function getNames(requests: readonly ReceivedRequest[]): readonly string[] {
  return requests.map(({ path }) => path.split('/').at(-2) ?? '').toSorted()
}

export function createPolicy(
  name: string,
  metadata: Partial<KubernetesObject['metadata']> = {},
  status?: object,
): KubernetesObject {
  return {
    apiVersion: 'catalog-gateway.dev/v1',
    kind: 'AccessPolicy',
    metadata: {
      namespace: 'team-a',
      name,
      uid: `uid-of-${name}`,
      generation: 3,
      resourceVersion: '10',
      ...metadata,
    },
    ...(status && { status }),
  }
}

export function accept(resource: KubernetesObject): ResourceResult {
  return {
    resource,
    generation: resource.metadata.generation,
    reason: 'Accepted',
    message: 'the policy is in force',
  }
}

export function refuse(resource: KubernetesObject, message = 'expected a list'): ResourceResult {
  return { ...accept(resource), reason: 'Invalid', message }
}
