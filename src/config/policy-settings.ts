import { resolve } from 'node:path'
import { z } from 'zod'
import { isWithin } from '../lib/fs/is-within.ts'
import { policyKubernetesSchema } from './policy-kubernetes-settings.ts'

const path = z.string().min(1)

export const policySettingsSchema = z
  .strictObject({
    folder: path.optional().describe('Folder of policies, including sub-folders.'),
    bundle: z
      .strictObject({
        file: path.describe('The bundle file; reloaded when it changes.'),
        publicKeyFiles: z
          .array(path)
          .min(1)
          .describe('PEM files of trusted public keys; one of them must have signed the bundle.'),
      })
      .optional()
      .describe('A signed bundle made by `policy bundle`, instead of a folder.'),
    candidateFolder: path
      .optional()
      .describe(
        'Folder of candidate policies, evaluated as shadow: differing decisions are counted and logged.',
      ),
    emergencyFolder: path
      .optional()
      .describe(
        'Folder of policies that only deny, in force beside all others: even while the others cannot be loaded, a deny ' +
          'takes effect when it is written here. May be empty, but not missing.',
      ),
    lastGood: z
      .strictObject({
        folder: path.describe('Folder on the volume of the gateway; created if missing, not shared.'),
        keyFile: path.describe(
          'File with a secret of at least 32 bytes that authenticates the stored policies; not in the folder, nor on its volume.',
        ),
        maxAgeHours: z
          .number()
          .positive()
          .max(720)
          .default(24)
          .describe('How long the stored policies may be used after they were last the present ones.'),
      })
      .optional()
      .describe(
        'Stores the policy files in force, and uses them at a start at which the present files do not compile; ' +
          'see policies/README.md. Without it, such a start fails.',
      ),
    kubernetes: policyKubernetesSchema
      .optional()
      .describe(
        'AccessPolicy resources of a Kubernetes cluster, beside the folder or bundle; see docs/kubernetes-policies.md.',
      ),
  })
  .refine(({ folder, bundle }) => (folder === undefined) !== (bundle === undefined), {
    message: 'expected either folder or bundle',
  })

export type PolicySettings = z.output<typeof policySettingsSchema>

const policyFolders = ['folder', 'candidateFolder', 'emergencyFolder'] as const

interface NestedFolder {
  readonly path: readonly string[]
  readonly message: string
}

/** Returns an error for each folder of policies within another one, or around it. Relative paths are those of `base`. */
export function findNestedFolders(policies: PolicySettings, base: string): readonly NestedFolder[] {
  const folders = policyFolders.flatMap((name) => {
    const folder = policies[name]
    return folder === undefined ? [] : [{ name, folder: resolve(base, folder) }]
  })
  return folders.flatMap(({ name, folder }, index) =>
    folders
      .slice(0, index)
      .filter((before) => isWithin(folder, before.folder) || isWithin(before.folder, folder))
      .map((before) => ({
        path: ['policies', name],
        message: `expected a folder beside policies.${before.name}: sub-folders are read, too, so one would contain the policies of the other`,
      })),
  )
}

export type LastGoodSettings = NonNullable<PolicySettings['lastGood']>

export function resolvePolicyPaths(
  { folder, bundle, candidateFolder, emergencyFolder, lastGood, kubernetes }: PolicySettings,
  absolute: (path: string) => string,
): PolicySettings {
  return {
    ...(folder !== undefined && { folder: absolute(folder) }),
    ...(bundle && {
      bundle: { file: absolute(bundle.file), publicKeyFiles: bundle.publicKeyFiles.map(absolute) },
    }),
    ...(candidateFolder !== undefined && { candidateFolder: absolute(candidateFolder) }),
    ...(emergencyFolder !== undefined && { emergencyFolder: absolute(emergencyFolder) }),
    ...(lastGood && {
      lastGood: { ...lastGood, folder: absolute(lastGood.folder), keyFile: absolute(lastGood.keyFile) },
    }),
    ...(kubernetes && { kubernetes }),
  }
}
