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
import { fileOfResource, formatResource, qualifyName } from '../../policy/source/kubernetes/resource-text.ts'
import {
  createReviewer,
  isTerminating,
  listDocuments,
  listRefusals,
} from '../../policy/source/kubernetes/review-resources.ts'
import type { PolicyContents } from '../../policy/source/load-policies.ts'
import { parsePolicyFile } from '../../policy/source/parse-policy-files.ts'
import { readPolicyFolder } from '../../policy/source/policy-folder.ts'
import { CommandFailure, runStep } from '../common/command-failure.ts'

/** The AccessPolicy resources of a cluster. */
export interface Cluster {
  readonly resources: readonly KubernetesObject[]
  /** Of the Kubernetes namespaces by name, if the settings name one by its uid. */
  readonly uids: ReadonlyMap<string, unknown>
}

/**
 * Reads the cluster of the current context of kubectl. Throws CommandFailure if that fails. `namespaces` are those of the
 * settings.
 */
export async function readCluster(namespaces: readonly PolicyNamespace[] = []): Promise<Cluster> {
  const ofPolicies = `${policyResourceName}.${policyApiGroup}`
  const isByUid = namespaces.some(({ uid }) => uid !== undefined)
  const objects = getObjects(isByUid ? `${ofPolicies},namespaces` : ofPolicies)
  const resources = await runStep('the resources cannot be used', async () =>
    objects
      .filter((object) => !isNamespace(object))
      .map(parseKubernetesObject)
      .filter((resource) => !isTerminating(resource)),
  )
  const uids = objects.filter(isNamespace).map((object) => {
    const { name, uid } = getMembers(getMembers(object)['metadata'])
    return [String(name), uid] as const
  })
  return { resources, uids: new Map(uids) }
}

function isNamespace(object: unknown): boolean {
  return getMembers(object)['kind'] === 'Namespace'
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
  const { items } = getMembers(parseJson(stdout))
  if (!Array.isArray(items))
    throw new CommandFailure('kubectl printed something else than a list of resources')
  return items
}

function parseJson(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
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
  const contents = counting.map((namespace) => ({
    namespace,
    resources: ofNamespace.get(namespace.name) ?? [],
    isReplaced: namespace.uid !== undefined && uids.get(namespace.name) !== namespace.uid,
  }))
  if (contents.every((content) => content.resources.length === 0)) return undefined
  const reviews = await createReviewer(vocabulary)(contents)
  const accepted = reviews.filter(({ reason }) => reason === 'Accepted')
  const tests = accepted.flatMap(({ resource }) =>
    parsePolicyFile(formatResource(resource), vocabulary).tests.map((test) => ({
      ...test,
      document: qualifyName(resource, test.document),
    })),
  )
  return { documents: listDocuments(reviews), tests, refused: listRefusals(reviews) }
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
