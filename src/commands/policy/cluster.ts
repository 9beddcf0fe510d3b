import { spawnSync } from 'node:child_process'
import { parseAllDocuments } from 'yaml'
import type { PolicyNamespace } from '../../config/index.ts'
import { groupBy } from '../../lib/group-by.ts'
import { getMembers } from '../../lib/json/json-values.ts'
import { parseKubernetesObject, type KubernetesObject } from '../../lib/kubernetes/kubernetes-client.ts'
import {
  policyApiGroup,
  policyKind,
  policyResourceName,
  resourceApiVersion,
} from '../../policy/language/api-version.ts'
import { PolicyError, type PolicyProblem } from '../../policy/language/policy-error.ts'
import type { PolicyVocabulary } from '../../policy/language/policy-vocabulary.ts'
import { assertAnyPolicy } from '../../policy/source/document-problems.ts'
import {
  createReviewer,
  fileOfResource,
  isTerminating,
  listDocuments,
} from '../../policy/source/kubernetes/review-resources.ts'
import { parsePolicyFile, type PolicyContents } from '../../policy/source/load-policies.ts'
import { readPolicyFolder } from '../../policy/source/policy-folder.ts'
import { CommandFailure, runStep } from '../common/command-failure.ts'

/** The AccessPolicy resources of a cluster. */
export interface Cluster {
  readonly resources: readonly KubernetesObject[]
  /** Of the Kubernetes namespaces by name, if the settings name one by its uid. */
  readonly uids: ReadonlyMap<unknown, unknown>
}

/**
 * Reads the cluster of the current context of kubectl. Throws CommandFailure if that fails. `namespaces` are those of the
 * settings.
 */
export async function readCluster(namespaces: readonly PolicyNamespace[] = []): Promise<Cluster> {
  const kinds = [
    `${policyResourceName}.${policyApiGroup}`,
    ...(namespaces.some(({ uid }) => uid !== undefined) ? ['namespaces'] : []),
  ]
  const byKind = groupBy(getObjects(kinds.join()), (object) => String(getMembers(object)['kind']))
  const resources = await runStep('the resources cannot be used', async () =>
    (byKind.get(policyKind) ?? []).map(parseKubernetesObject),
  )
  const metadata = (byKind.get('Namespace') ?? []).map((object) => getMembers(getMembers(object)['metadata']))
  return {
    resources: resources.filter((resource) => !isTerminating(resource)),
    uids: new Map(metadata.map(({ name, uid }) => [name, uid])),
  }
}

/**
 * Runs `kubectl get` and returns the objects that it finds. kubectl reads its kubeconfig, asks for credentials on the
 * terminal and prints its own errors there. Throws CommandFailure if it cannot run or fails.
 */
function getObjects(kinds: string): readonly unknown[] {
  const { error, status, stdout } = spawnSync(
    'kubectl',
    ['get', kinds, '--all-namespaces', '--output', 'json'],
    { stdio: ['inherit', 'pipe', 'inherit'], encoding: 'utf8', maxBuffer: Infinity },
  )
  if (error !== undefined) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandFailure(`kubectl cannot be run (${code}); install it in the PATH`, { cause: error })
  }
  if (status !== 0)
    throw new CommandFailure(`kubectl cannot read ${kinds} (status ${status}); its message is above`)
  try {
    const { items } = getMembers(JSON.parse(stdout))
    if (Array.isArray(items)) return items
  } catch {
    // As if it had no items.
  }
  throw new CommandFailure('kubectl printed something else than a list of resources')
}

/**
 * Reviews the resources once, as a gateway does that watches them; undefined if none counts. Without settings all count, as
 * those of the platform.
 */
export async function reviewCluster(
  { resources, uids }: Cluster,
  namespaces: readonly PolicyNamespace[] | undefined,
  vocabulary: PolicyVocabulary,
): Promise<(PolicyContents & { readonly refused: readonly PolicyProblem[] }) | undefined> {
  const ofNamespace = groupBy(resources, ({ metadata }) => metadata.namespace)
  const counting: readonly PolicyNamespace[] =
    namespaces ?? [...ofNamespace.keys()].map((name) => ({ platform: true, name }))
  const reviewed = counting.map((namespace) => {
    const { name, uid } = namespace
    const isReplaced = uid !== undefined && uids.get(name) !== uid
    return createReviewer(namespace, vocabulary)({ resources: ofNamespace.get(name) ?? [], isReplaced })
  })
  const reviews = (await Promise.all(reviewed)).flat()
  if (reviews.length === 0) return undefined
  const refused = reviews.filter(({ reason }) => reason !== 'Accepted')
  return {
    documents: listDocuments(reviews),
    tests: reviews.flatMap(({ tests }) => tests),
    refused: refused.flatMap(({ resource, message: text }) =>
      text.split('\n').map((message) => ({ file: fileOfResource(resource), message })),
    ),
  }
}

/**
 * Returns the resources as they would be after `kubectl apply` of the policies in a folder: a candidate replaces the
 * resource of the same Kubernetes namespace and name. Throws PolicyError with every error in every file, if a policy
 * cannot be applied, and if there is none.
 */
export async function applyCandidates(
  resources: readonly KubernetesObject[],
  folder: string,
  vocabulary: PolicyVocabulary,
): Promise<readonly KubernetesObject[]> {
  const files = await readPolicyFolder({ path: folder, prefix: '' })
  const parsed = files.map((file) => parsePolicyFile(file, vocabulary))
  const problems = parsed.flatMap((file) => file.problems)
  const after = new Map(resources.map((resource) => [fileOfResource(resource), resource]))
  for (const { name: file, bytes } of problems.length > 0 ? [] : files) {
    for (const document of parseAllDocuments(Buffer.from(bytes).toString('utf8'))) {
      const content = getMembers(document.toJS())
      const { apiVersion, kind, metadata } = content
      const { name, namespace } = getMembers(metadata)
      if (kind !== policyKind) continue
      if (apiVersion !== resourceApiVersion || namespace === undefined) {
        const message = `the policy ${String(name)} cannot be applied; expected apiVersion: ${resourceApiVersion} and metadata.namespace`
        problems.push({ file, message })
        continue
      }
      // What the API server would fill in, or keep.
      const creationTimestamp = new Date().toISOString().replace(/\.\d+/, '')
      const assigned = { creationTimestamp, generation: 1, resourceVersion: '1', uid: 'new' }
      const created = parseKubernetesObject({
        ...content,
        metadata: { ...assigned, ...getMembers(metadata) },
      })
      const key = fileOfResource(created)
      const kept = after.get(key)?.metadata['creationTimestamp'] ?? creationTimestamp
      after.set(key, { ...created, metadata: { ...created.metadata, creationTimestamp: kept } })
    }
  }
  if (problems.length > 0) throw new PolicyError(problems)
  assertAnyPolicy(folder, parsed.flatMap(({ documents }) => documents).length)
  return [...after.values()]
}
