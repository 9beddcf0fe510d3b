import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { getMembers } from '../../lib/json/is-object.ts'
import { parseKubernetesObject, type KubernetesObject } from '../../lib/kubernetes/kubernetes-object.ts'
import { resourceApiVersion } from '../../policy/language/api-version.ts'
import type { PolicyVocabulary } from '../../policy/language/policy-vocabulary.ts'
import { PolicyError, type PolicyProblem } from '../../policy/language/policy-error.ts'
import { fileOfResource } from '../../policy/source/kubernetes/resource-text.ts'
import { assertAnyPolicy } from '../../policy/source/document-problems.ts'
import { parsePolicyFile, type PolicyText } from '../../policy/source/parse-policy-files.ts'
import { readPolicyFolder } from '../../policy/source/policy-folder.ts'

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
  const { files } = await readPolicyFolder({ path: folder, prefix: '' })
  const parsed = files.map((file) => parsePolicyFile(file, vocabulary))
  const problems = parsed.flatMap((file) => file.problems)
  if (problems.length > 0) throw new PolicyError(problems)
  assertAnyPolicy(folder, parsed.flatMap(({ documents }) => documents).length)
  return replaceResources(resources, files)
}

function replaceResources(
  resources: readonly KubernetesObject[],
  files: readonly PolicyText[],
): readonly KubernetesObject[] {
  const after = new Map(resources.map((resource) => [fileOfResource(resource), resource]))
  const problems: PolicyProblem[] = []
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
