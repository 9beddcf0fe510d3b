import { randomBytes } from 'node:crypto'
import { onTestFinished, inject } from 'vitest'
import { createApiClient, type ApiClient } from './api-client.ts'

/** A Kubernetes namespace of one test. */
export interface TestNamespace {
  readonly name: string
  readonly client: ApiClient
  readonly kubeconfig: string
}

/** Creates a namespace whose pods must satisfy PodSecurity's `restricted`. It is deleted after the test. */
export async function createNamespace(): Promise<TestNamespace> {
  const { url, caFile, adminToken, kubeconfig } = inject('cluster')
  const client = createApiClient({ url, caFile, token: adminToken })
  const name = `test-${randomBytes(4).toString('hex')}`
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
  onTestFinished(async () => {
    await client.delete(`/api/v1/namespaces/${name}`)
    await client.close()
  })
  return { name, client, kubeconfig }
}
