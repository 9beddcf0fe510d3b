import { onTestFinished } from 'vitest'
import type { PolicyNamespace } from '../../../../src/config/policy-settings.ts'
import type { KubernetesObject } from '../../../../src/kubernetes/kubernetes-client.ts'
import { builtInVocabulary } from '../../../../src/policy/language/policy-vocabulary.ts'
import {
  watchKubernetesPolicies,
  type ResourceResult,
} from '../../../../src/policy/source/kubernetes/kubernetes-policies.ts'
import { combineSources } from '../../../../src/policy/source/policy-source.ts'
import {
  createEvent,
  isWatch,
  sendEvents,
  sendJson,
  sendList,
  sendStatus,
  startScriptedApiServer,
  type Script,
} from '../../../lib/kubernetes/scripted-api-server.ts'
import { createAuthorizationRequest, createCaller } from '../../policy-builder.ts'

/** An API server with one Kubernetes namespace, whose responses a test changes. */
interface ScriptedCluster {
  /** Responses to the list of policies, and to reading the Kubernetes namespace. */
  list: Script
  namespace: Script
  /** Replaces the policies, and reports a change to all watches. */
  replace(...resources: readonly KubernetesObject[]): void
  /** Reports a change to all watches. */
  report(): void
}

export function sendNamespace(uid: string): Script {
  return sendJson({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-a', uid } })
}

/** Starts an API server with these policies in the Kubernetes namespace `team-a`. */
export async function scriptCluster(...resources: readonly KubernetesObject[]) {
  const watches: { write(text: string): unknown }[] = []
  const cluster: ScriptedCluster = {
    list: sendList('1', ...resources),
    namespace: sendNamespace('uid-of-team-a'),
    replace(...present) {
      cluster.list = sendList('2', ...present)
      cluster.report()
    },
    report() {
      for (const watch of watches) watch.write(createEvent('MODIFIED', {}))
    },
  }
  const server = await startScriptedApiServer((request, response) => {
    if (!request.path.startsWith('/apis/catalog-gateway.dev/')) cluster.namespace(request, response)
    else if (isWatch(request)) {
      sendEvents()(request, response)
      watches.push(response)
    } else cluster.list(request, response)
  })
  return { cluster, client: server.client }
}

/** Watches the policies of a scripted cluster; closed after the test. */
export async function watchCluster(
  { client }: Pick<Awaited<ReturnType<typeof scriptCluster>>, 'client'>,
  namespace: PolicyNamespace,
  startTimeoutMs = 10_000,
) {
  const errors: string[] = []
  const connects: string[] = []
  const reports: (readonly ResourceResult[])[] = []
  const resources = watchKubernetesPolicies({
    client,
    namespaces: [namespace],
    vocabulary: builtInVocabulary,
    onConnect: (name) => connects.push(name),
    onError: (_, { message }) => errors.push(message),
    onResults: (results) => reports.push(results),
    startTimeoutMs,
    timing: { minDelayMs: 50, maxDelayMs: 50 },
    // Under load, one update may take many seconds.
    pausesPerUpdate: 0,
  })
  const source = await combineSources(new Map([[undefined, resources]]))
  onTestFinished(() => source.close())
  function isAllowed(user: string): boolean {
    const request = createAuthorizationRequest(createCaller(user), 'ListTables', 'namespace', [
      'prod',
      'sales',
    ])
    return source.current().decide(request).allowed
  }
  return { source, errors, connects, reports, isAllowed }
}

export const unavailable = sendStatus(503, 'as scripted')

/** A list that is larger than the client reads. */
export const tooLarge: Script = (_, response) => response.end(' '.repeat(17 * 1024 * 1024))

export const forbidden = sendStatus(403, 'as scripted')
