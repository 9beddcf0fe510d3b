import type { PolicyNamespace } from '../../config/policy-kubernetes-settings.ts'
import { groupBy } from '../../lib/group-by.ts'
import { getMembers } from '../../lib/json/is-object.ts'
import { parseKubernetesObject, type KubernetesObject } from '../../lib/kubernetes/kubernetes-object.ts'
import { policyApiGroup, policyResourceName } from '../../policy/language/api-version.ts'
import { isTerminating, type NamespaceContent } from '../../policy/source/kubernetes/review-resources.ts'
import { runStep } from '../common/command-failure.ts'
import { getObjects, type Kubectl } from './kubectl.ts'

/** The AccessPolicy resources of a cluster. */
export interface Cluster {
  readonly resources: readonly KubernetesObject[]
  /** Of the Kubernetes namespaces that the settings name, by name; missing if a namespace does not exist. */
  readonly uids: ReadonlyMap<string, unknown>
}

/** Throws CommandFailure if kubectl cannot read the cluster. `namespaces` are those of the settings. */
export async function readCluster(
  kubectl: Kubectl,
  namespaces: readonly PolicyNamespace[] = [],
): Promise<Cluster> {
  const objects = await getObjects(kubectl, [`${policyResourceName}.${policyApiGroup}`, '--all-namespaces'])
  const resources = await runStep('the resources cannot be used', async () =>
    objects.map(parseKubernetesObject).filter((resource) => !isTerminating(resource)),
  )
  return { resources, uids: await readUids(kubectl, namespaces) }
}

async function readUids(
  kubectl: Kubectl,
  namespaces: readonly PolicyNamespace[],
): Promise<ReadonlyMap<string, unknown>> {
  const names = namespaces.filter(({ uid }) => uid !== undefined).map(({ name }) => name)
  if (names.length === 0) return new Map()
  const found = await getObjects(kubectl, ['namespaces', ...names, '--ignore-not-found'])
  return new Map(
    found.map((namespace) => {
      const { name, uid } = getMembers(getMembers(namespace)['metadata'])
      return [String(name), uid]
    }),
  )
}

/** Sorts the resources by Kubernetes namespace. Without settings all count, as those of the platform. */
export function divideResources(
  { resources, uids }: Cluster,
  namespaces: readonly PolicyNamespace[] | undefined,
): readonly NamespaceContent[] {
  const ofNamespace = groupBy(resources, ({ metadata }) => metadata.namespace)
  const counting: readonly PolicyNamespace[] =
    namespaces ?? [...ofNamespace.keys()].map((name) => ({ platform: true, name }))
  return counting.map((namespace) => ({
    namespace,
    resources: ofNamespace.get(namespace.name) ?? [],
    isReplaced: namespace.uid !== undefined && uids.get(namespace.name) !== namespace.uid,
  }))
}
