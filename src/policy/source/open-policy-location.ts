import { createPublicKey, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { PolicySettings } from '../../config/policy-settings.ts'
import { PolicyError } from '../language/policy-error.ts'
import { createBundleLocation } from './policy-bundle.ts'
import { withFileErrors } from './policy-files.ts'
import { createFolderLocation, type PolicyLocation } from './policy-location.ts'

/** Throws PolicyError if a key is invalid. */
export async function openPolicyLocation({ folder, bundle }: PolicySettings): Promise<PolicyLocation> {
  if (bundle !== undefined)
    return createBundleLocation(bundle.file, await Promise.all(bundle.publicKeyFiles.map(readPublicKey)))
  if (folder === undefined) throw new Error('no policies configured')
  return createFolderLocation(folder)
}

/** Reads an Ed25519 key that bundles are verified with (SPKI, PEM). Throws PolicyError. */
export async function readPublicKey(file: string): Promise<KeyObject> {
  const text = await withFileErrors(file, () => readFile(file, 'utf8'))
  // A private key would work too, but must not be on this host.
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
