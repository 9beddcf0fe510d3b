import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createKubernetesClient, type KubernetesClient } from '../../../src/kubernetes/kubernetes-client.ts'
import { startApiServer, type ApiServer } from '../support/start-api-server.ts'
import { eventually } from '../../support/eventually.ts'

export const thingsPath = '/apis/example.com/v1/namespaces/team-a/things'

export interface ApiServerWithThings extends ApiServer {
  readonly tested: KubernetesClient
  readonly testedTokenFile: string
}

/** Starts an API server with a custom resource `Thing` and the Kubernetes namespace `team-a`. */
export async function startApiServerWithThings(): Promise<ApiServerWithThings> {
  const server = await startApiServer()
  const { client, url, caFile, folder, adminToken } = server
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, adminToken)
  const tested = createKubernetesClient({ apiServer: url, caFile, tokenFile })
  await client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-a' } })
  await client.apply({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      names: { kind: 'Thing', plural: 'things' },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { text: { type: 'string' } } } },
        },
      ],
    },
  })
  await eventually(() => client.get(thingsPath))
  return {
    ...server,
    tested,
    testedTokenFile: tokenFile,
    async close() {
      await tested.close()
      await server.close()
    },
  }
}

export function createThing(name: string, text = 'one') {
  const metadata = { name, namespace: 'team-a' }
  return { apiVersion: 'example.com/v1', kind: 'Thing', metadata, text }
}
