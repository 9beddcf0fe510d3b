import { onTestFinished } from 'vitest'
import type { KubernetesError } from '../../../src/kubernetes/kubernetes-client.ts'
import {
  watchResources,
  type WatchResourcesOptions,
  type WatchTiming,
} from '../../../src/kubernetes/watch-resources.ts'
import { startScriptedApiServer, type Script } from './scripted-api-server.ts'

const thingsPath = '/apis/example.com/v1/namespaces/team-a/things'

const fastTiming: WatchTiming = { minDelayMs: 10, maxDelayMs: 100 }

/** Watches things of a scripted API server, and collects the reports: names with versions, such as `a@7`. */
export async function watchThings(
  script: Script,
  options: Partial<Omit<WatchResourcesOptions, 'timing'>> & { readonly timing?: Partial<WatchTiming> } = {},
) {
  const server = await startScriptedApiServer(script)
  const reports: (readonly string[])[] = []
  const errors: KubernetesError[] = []
  let connections = 0
  const watch = watchResources({
    client: server.client,
    path: thingsPath,
    onList(resources) {
      reports.push(resources.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).toSorted())
    },
    onError: (error) => errors.push(error),
    onConnect: () => (connections += 1),
    ...options,
    timing: { ...fastTiming, ...options.timing },
  })
  onTestFinished(() => watch.close())
  return { ...server, watch, reports, errors, countConnections: () => connections }
}
