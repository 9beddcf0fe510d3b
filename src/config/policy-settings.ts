import { z } from 'zod'
import { path } from './file-settings.ts'
import { isWithin } from '../lib/fs/is-within.ts'
import { policyKubernetesSchema } from './policy-kubernetes-settings.ts'

export const policySettingsSchema = z.strictObject({
  folder: z
    .union([path, z.array(path).min(1)], { error: 'expected a folder of policies, or a list of folders' })
    .transform((folder) => (typeof folder === 'string' ? [folder] : folder))
    .superRefine((folders, context) => {
      for (const [index, folder] of folders.entries()) {
        const others = folders.slice(0, index)
        if (!others.some((other) => isWithin(folder, other) || isWithin(other, folder))) continue
        const message = `${JSON.stringify(folder)}: expected a folder beside the others: sub-folders are read, too, so one would contain the policies of the other`
        context.addIssue({ code: 'custom', message })
      }
    })
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
