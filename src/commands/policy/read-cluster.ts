import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import type { PolicyNamespace } from '../../config/policy-kubernetes-settings.ts'
import { groupBy } from '../../lib/group-by.ts'
import { getMembers } from '../../lib/json/is-object.ts'
import { parseKubernetesObject, type KubernetesObject } from '../../lib/kubernetes/kubernetes-object.ts'
import { policyApiGroup, policyResourceName } from '../../policy/language/api-version.ts'
import { isTerminating, type NamespaceContent } from '../../policy/source/kubernetes/review-resources.ts'
import { CommandFailure, runStep } from '../common/command-failure.ts'

/** The AccessPolicy resources of a cluster. */
export interface Cluster {
  readonly resources: readonly KubernetesObject[]
  /** Of the Kubernetes namespaces that the settings name, by name; missing if a namespace does not exist. */
  readonly uids: ReadonlyMap<string, unknown>
}

/**
 * Reads the cluster of the current context of kubectl. Throws CommandFailure if that fails. `namespaces` are those of the
 * settings.
 */
export async function readCluster(namespaces: readonly PolicyNamespace[] = []): Promise<Cluster> {
  const objects = await getObjects([`${policyResourceName}.${policyApiGroup}`, '--all-namespaces'])
  const resources = await runStep('the resources cannot be used', async () =>
    objects.map(parseKubernetesObject).filter((resource) => !isTerminating(resource)),
  )
  return { resources, uids: await readUids(namespaces) }
}

async function readUids(namespaces: readonly PolicyNamespace[]): Promise<ReadonlyMap<string, unknown>> {
  const names = namespaces.filter(({ uid }) => uid !== undefined).map(({ name }) => name)
  if (names.length === 0) return new Map()
  const found = await getObjects(['namespaces', ...names, '--ignore-not-found'])
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

/**
 * Runs `kubectl get` and returns the objects that it finds. kubectl reads its kubeconfig, asks for credentials on the
 * terminal and prints its own errors there. Throws CommandFailure if it cannot run or fails.
 */
async function getObjects(query: readonly string[]): Promise<readonly unknown[]> {
  const kubectl = spawn('kubectl', ['get', ...query, '--output', 'json'], {
    stdio: ['inherit', 'pipe', 'inherit'],
  })
  const ended = once(kubectl, 'close').catch((error: unknown) => {
    throw new CommandFailure(
      `kubectl cannot be run (${String(getMembers(error)['code'])}); install it in the PATH`,
      {
        cause: error,
      },
    )
  })
  const [output, [status]] = await Promise.all([text(kubectl.stdout), ended])
  if (status !== 0) {
    throw new CommandFailure(
      `kubectl cannot read ${query[0] ?? 'resources'} (status ${String(status)}); its message is above`,
    )
  }
  return readObjects(output)
}

/** kubectl prints a list, a single object if one was asked for by name, or nothing with `--ignore-not-found`. */
function readObjects(output: string): readonly unknown[] {
  if (output.trim() === '') return []
  const found = parseJson(output)
  const { items, kind } = getMembers(found)
  if (Array.isArray(items)) return items
  if (typeof kind === 'string') return [found]
  throw new CommandFailure('kubectl printed something else than a list of resources')
}

function parseJson(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
}
