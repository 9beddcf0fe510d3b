import { onTestFinished } from 'vitest'
import type { KubernetesError } from '../../../../src/lib/kubernetes/kubernetes-error.ts'
import type { KubernetesObject } from '../../../../src/lib/kubernetes/kubernetes-object.ts'
import type { ResourceResult } from '../../../../src/policy/source/kubernetes/resource-status.ts'
import { createStatusReporter } from '../../../../src/policy/source/kubernetes/status-reporter.ts'
import {
  sendJson,
  startScriptedApiServer,
  type ReceivedRequest,
  type Script,
} from '../../../lib/kubernetes/scripted-api-server.ts'

/** Reports to a scripted API server; `lease.isHeld` may change. */
export async function openReporter(script: Script = applyPatch, retryMs = 50) {
  const server = await startScriptedApiServer(script)
  const errors: KubernetesError[] = []
  const lease = { identity: 'replica-1', isHeld: true, isHolder: () => lease.isHeld }
  const reporter = createStatusReporter({
    client: server.client,
    lease,
    onError: (error) => errors.push(error),
    retryMs,
  })
  onTestFinished(() => reporter.close())
  return { ...server, lease, reporter, errors }
}

/** Responds to a patch with the resource in its next version, and accepts events. */
export const applyPatch: Script = (request, response) => {
  if (!isStatus(request)) {
    sendJson({}, 201)(request, response)
    return
  }
  const name = request.path.split('/').at(-2) ?? ''
  const { metadata, status } = request.body as Patch
  const resource = createPolicy(name, { resourceVersion: String(Number(metadata.resourceVersion) + 1) })
  sendJson({ ...resource, status })(request, response)
}

interface Patch {
  readonly metadata: { readonly resourceVersion: string }
  readonly status: unknown
}

export function isStatus({ path }: ReceivedRequest): boolean {
  return path.endsWith('/status')
}

/** Names of the resources whose status was written, in alphabetical order. */
export function getNames(requests: readonly ReceivedRequest[]): readonly string[] {
  return requests
    .filter(isStatus)
    .map(({ path }) => path.split('/').at(-2) ?? '')
    .toSorted()
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
    accepted: { reason: 'Accepted', message: 'the policy is in force' },
    conflict: { reason: 'NoConflict', message: '' },
  }
}

export function refuse(resource: KubernetesObject, message = 'line 7: expected a list'): ResourceResult {
  return { ...accept(resource), accepted: { reason: 'Invalid', message } }
}
