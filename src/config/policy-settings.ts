import { createPublicKey, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { createBundleLocation } from '../policy/source/policy-bundle.ts'
import { PolicyError } from '../policy/language/policy-error.ts'
import { withFileErrors } from '../policy/source/policy-files.ts'
import { createFolderLocation, type PolicyLocation } from '../policy/source/policy-location.ts'

const path = z.string().min(1)

/** Source of the policies. */
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
  })
  .refine(({ folder, bundle }) => (folder === undefined) !== (bundle === undefined), {
    message: 'expected either folder or bundle',
  })

export type PolicySettings = z.output<typeof policySettingsSchema>

/** Resolves all paths. */
export function withAbsolutePolicyPaths(
  { folder, bundle, candidateFolder }: PolicySettings,
  absolute: (path: string) => string,
): PolicySettings {
  return {
    ...(folder !== undefined && { folder: absolute(folder) }),
    ...(bundle && {
      bundle: { file: absolute(bundle.file), publicKeyFiles: bundle.publicKeyFiles.map(absolute) },
    }),
    ...(candidateFolder !== undefined && { candidateFolder: absolute(candidateFolder) }),
  }
}

/** Returns the location of the policies. Throws PolicyError if a key is invalid. */
export async function openPolicyLocation({ folder, bundle }: PolicySettings): Promise<PolicyLocation> {
  if (bundle !== undefined)
    return createBundleLocation(bundle.file, await Promise.all(bundle.publicKeyFiles.map(readPublicKey)))
  if (folder === undefined) throw new Error('no policies configured')
  return createFolderLocation(folder)
}

/** Reads an Ed25519 public key that verifies bundles (SPKI, PEM). Throws PolicyError. */
export async function readPublicKey(file: string): Promise<KeyObject> {
  const text = await withFileErrors(file, () => readFile(file, 'utf8'))
  // node:crypto would derive the public key from a private key, which must not be stored here.
  const key = text.includes('PUBLIC KEY') ? parseKey(text) : undefined
  if (key?.asymmetricKeyType === 'ed25519') return key
  throw new PolicyError([{ file, message: 'is not a public Ed25519 key in PEM' }])
}

function parseKey(text: string): KeyObject | undefined {
  try {
    return createPublicKey(text)
  } catch {
    return undefined
  }
}
