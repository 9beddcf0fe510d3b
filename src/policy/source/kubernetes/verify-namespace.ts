import type { KubernetesClient } from '../../../lib/kubernetes/kubernetes-client.ts'
import { KubernetesError } from '../../../lib/kubernetes/kubernetes-error.ts'
import { getMembers } from '../../../lib/json/is-object.ts'
import type { PolicyNamespace } from '../../../config/policy-kubernetes-settings.ts'

/**
 * Whether the Kubernetes namespace is the one that the settings name, and not another one of the same name. Rejects with
 * KubernetesError if the API server does not say.
 */
export async function isSameNamespace(
  client: Pick<KubernetesClient, 'get'>,
  { name, uid }: PolicyNamespace,
): Promise<boolean> {
  if (uid === undefined) return true
  try {
    const namespace = await client.get(`/api/v1/namespaces/${name}`)
    return getMembers(getMembers(namespace)['metadata'])['uid'] === uid
  } catch (error) {
    if (error instanceof KubernetesError && error.status === 404) return false
    throw error
  }
}
