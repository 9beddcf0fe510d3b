import { resolve } from 'node:path'
import { z } from 'zod'
import { isWithin } from '../lib/fs/is-within.ts'
import { policyKubernetesSchema } from './policy-kubernetes-settings.ts'

const path = z.string().min(1)

export const policySettingsSchema = z.strictObject({
  folder: z
    .union([path, z.array(path).min(1)], { error: 'expected a folder of policies, or a list of folders' })
    .transform((folder) => (typeof folder === 'string' ? [folder] : folder))
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

export type PolicySettings = z.output<typeof policySettingsSchema>

interface NestedFolder {
  readonly path: readonly string[]
  readonly message: string
}

/** Returns an error for each folder of policies within another one, or around it. Relative paths are those of `base`. */
export function findNestedFolders({ folder }: PolicySettings, base: string): readonly NestedFolder[] {
  const folders = folder.map((each) => resolve(base, each))
  return folders.flatMap((each, index) =>
    folders
      .slice(0, index)
      .filter((before) => isWithin(each, before) || isWithin(before, each))
      .map(() => ({
        path: ['policies', 'folder'],
        message: `${JSON.stringify(folder[index])}: expected a folder beside the others: sub-folders are read, too, so one would contain the policies of the other`,
      })),
  )
}

export function resolvePolicyPaths(
  { folder, kubernetes }: PolicySettings,
  absolute: (path: string) => string,
): PolicySettings {
  return {
    folder: folder.map(absolute),
    ...(kubernetes && { kubernetes }),
  }
}
