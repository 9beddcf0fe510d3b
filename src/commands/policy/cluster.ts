import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import type { PolicyNamespace } from '../../config/index.ts'
import { groupBy } from '../../lib/group-by.ts'
import { getMembers } from '../../lib/json/json-values.ts'
import { parseKubernetesObject, type KubernetesObject } from '../../lib/kubernetes/kubernetes-client.ts'
import { policyApiGroup, policyResourceName, resourceApiVersion } from '../../policy/language/api-version.ts'
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

const candidateSchema = z.looseObject({
  apiVersion: z.literal(resourceApiVersion),
  metadata: z.looseObject({ name: z.string(), namespace: z.string() }),
})

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
  if (problems.length > 0) throw new PolicyError(problems)
  assertAnyPolicy(folder, parsed.flatMap(({ documents }) => documents).length)
  const after = new Map(resources.map((resource) => [fileOfResource(resource), resource]))
  for (const { name: file, bytes } of files) {
    for (const document of parseAllDocuments(Buffer.from(bytes).toString('utf8'))) {
      const content: unknown = document.toJS()
      const { kind, metadata } = getMembers(content)
      if (content === null || kind === 'DecisionTable') continue
      const candidate = candidateSchema.safeParse(content).data
      if (candidate === undefined) {
        const { name } = getMembers(metadata)
        const message = `the policy ${String(name)} cannot be applied; expected apiVersion: ${resourceApiVersion} and metadata.namespace`
        problems.push({ file, message })
        continue
      }
      const created = createResource(candidate)
      const key = fileOfResource(created)
      after.set(key, replaceContent(after.get(key), created))
    }
  }
  if (problems.length > 0) throw new PolicyError(problems)
  return [...after.values()]
}

/** Fills in what the API server would. */
function createResource({ metadata, ...content }: z.output<typeof candidateSchema>): KubernetesObject {
  const creationTimestamp = new Date().toISOString().replace(/\.\d+/, '')
  const { name, namespace } = metadata
  const assigned = { creationTimestamp, generation: 1, resourceVersion: '1', uid: `${namespace}/${name}` }
  return parseKubernetesObject({ ...content, metadata: { ...metadata, ...assigned } })
}

function replaceContent(before: KubernetesObject | undefined, created: KubernetesObject): KubernetesObject {
  if (before === undefined) return created
  const { creationTimestamp, uid } = before.metadata
  return { ...created, metadata: { ...created.metadata, uid, creationTimestamp } }
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
