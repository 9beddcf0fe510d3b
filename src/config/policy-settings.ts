import { z } from 'zod'
import { assertIdentifier, type Identifier, isWithin as isWithinNamespace } from '../catalog-api/index.ts'
import { isWithin } from '../lib/index.ts'
import {
  findDuplicates,
  findErrorMessage,
  ifValid,
  nonEmptyText,
  path,
  refuse,
  type SettingProblem,
} from '../settings/index.ts'

const texts = z.array(nonEmptyText)

const namespaceName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'expected the name of a Kubernetes namespace')

const subjectsSchema = z.strictObject({
  issuers: texts
    .default([])
    .describe('Names in `identity`: all their principals, groups and service accounts.'),
  users: texts.default([]).describe('Names of principals.'),
  groups: texts.default([]).describe('Names of groups.'),
  keys: texts.default([]).describe('Ids of API keys.'),
  any: z
    .boolean()
    .default(false)
    .describe('Whether a rule may have `any: true`: every authenticated caller.'),
  anonymous: z.boolean().default(false).describe('Whether a rule may have `anonymous: true`.'),
})

/** Members of a delegation, which a platform namespace does not have. */
const delegationMembers = {
  catalogNamespaces: z
    .array(
      z
        .array(z.string())
        .min(1, 'expected a namespace beneath the root: the root would be everything')
        .superRefine(refuse((id) => findErrorMessage(() => assertIdentifier(id)))),
    )
    .min(1)
    .optional()
    .describe(
      'Delegated namespaces of the catalog with everything beneath them, each as a list of names. No two of them may ' +
        'overlap. Required without `platform: true`.',
    ),
  subjects: subjectsSchema
    .optional()
    .describe('Callers that its rules may name. Required without `platform: true`.'),
  additionalPermissions: texts
    .optional()
    .describe(
      'Operations and permissions that its rules may allow besides those of every delegation, see ' +
        'docs/kubernetes-policies.md; default: none.',
    ),
}

const namespaceSchema = z
  .strictObject({
    name: namespaceName.describe('Name of the Kubernetes namespace.'),
    uid: nonEmptyText
      .optional()
      .describe(
        'Its metadata.uid: a namespace that was deleted and created again is another one. Required without `platform: true`.',
      ),
    platform: z
      .boolean()
      .default(false)
      .describe(
        'Whether its policies count fully, as those of files. Otherwise they are delegated: they only grant.',
      ),
    ...delegationMembers,
  })
  .transform((namespace, context) => {
    const addIssue = (member: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [member], message })
    const { name, uid, platform, ...delegation } = namespace
    const { catalogNamespaces, subjects } = delegation
    if (platform) {
      for (const member of Object.keys(delegation))
        addIssue(member, 'limits a delegation; expected either platform: true or limits')
      return { platform, name, ...(uid !== undefined && { uid }) }
    }
    if (uid === undefined) {
      const command = `kubectl get namespace ${name} --output jsonpath={.metadata.uid}`
      addIssue('uid', `is missing; expected the output of: ${command}`)
    }
    if (catalogNamespaces === undefined)
      addIssue('catalogNamespaces', 'is missing; expected it, or platform: true')
    if (subjects === undefined || !Object.values(subjects).some(namesSubject))
      addIssue('subjects', 'names no subject; expected issuers, users, groups, keys, any or anonymous')
    if (uid === undefined || catalogNamespaces === undefined || subjects === undefined) return z.NEVER
    const { additionalPermissions = [] } = delegation
    return { platform, name, uid, catalogNamespaces, subjects, additionalPermissions }
  })

/** A Kubernetes namespace of the platform, whose policies count as files do, or a delegated one. */
export type PolicyNamespace = z.output<typeof namespaceSchema>

/** A Kubernetes namespace of a team: its policies grant within these limits. */
export type DelegatedNamespace = Extract<PolicyNamespace, { readonly platform: false }>

export const policyKubernetesSchema = z.strictObject({
  namespaces: z
    .array(namespaceSchema)
    .min(1)
    .superRefine(refuse(findSharedNamespaces), ifValid)
    .describe('Kubernetes namespaces whose AccessPolicy resources are policies of this gateway.'),
})

function namesSubject(value: boolean | readonly string[]): boolean {
  return typeof value === 'boolean' ? value : value.length > 0
}

/** Finds Kubernetes namespaces with two entries, which would be delegated the limits of both, and overlapping delegations. */
function* findSharedNamespaces(namespaces: readonly PolicyNamespace[]): Generator<SettingProblem> {
  yield* findDuplicates(namespaces, 'name', 'name of a Kubernetes namespace')
  yield* findDuplicates(namespaces, 'uid', 'uid of a Kubernetes namespace')
  const before: { readonly scope: Identifier; readonly name: string }[] = []
  for (const [index, namespace] of namespaces.entries()) {
    if (namespace.platform) continue
    const { name, catalogNamespaces } = namespace
    for (const [position, scope] of catalogNamespaces.entries()) {
      const other = before.find(
        (one) => isWithinNamespace(scope, one.scope) || isWithinNamespace(one.scope, scope),
      )
      before.push({ scope, name })
      if (other === undefined) continue
      const message = `${JSON.stringify(scope)} overlaps ${JSON.stringify(other.scope)} of ${other.name}`
      yield { path: [index, 'catalogNamespaces', position], message }
    }
  }
}

export const policySettingsSchema = z.strictObject({
  folder: z
    .union([path, z.array(path).min(1)], { error: 'expected a folder of policies, or a list of folders' })
    .transform((folder) => (typeof folder === 'string' ? [folder] : folder))
    .superRefine(
      refuse((folders) => {
        const nested = folders.find((folder, index) =>
          folders.slice(0, index).some((other) => isWithin(folder, other) || isWithin(other, folder)),
        )
        return (
          nested &&
          `${JSON.stringify(nested)}: expected a folder beside the others: sub-folders are read, too, so one would contain the policies of the other`
        )
      }),
    )
    .describe(
      'Folder of policies, including sub-folders, or a list of folders: a change of one comes into force by itself, ' +
        'and one with errors keeps its last policies.',
    ),
  kubernetes: policyKubernetesSchema
    .optional()
    .describe(
      'AccessPolicy resources of a Kubernetes cluster, beside the folders; see docs/kubernetes-policies.md.',
    ),
})
