import type { Permission } from '../../catalog-api/index.ts'
import { type ConditionFact, type ConditionInput, factValue, known } from './authorization-request.ts'
import { isUnderFolder } from './condition-functions.ts'
import { listStating } from './permission-facts.ts'

/**
 * The requirement of a policy for commits: that every new version has these metadata keys, each with a visible value; or that
 * staging manifests and chosen locations are under one of these folders, and no request chooses the storage.
 */
export type RequirementData =
  | { readonly metadata: readonly string[] }
  | { readonly folders: readonly string[] }

/** Returns the parts of a rule that denies commits which violate the requirement. */
export function createRequirement(requirement: RequirementData) {
  const [permissions, facts, message]: [readonly Permission[], readonly ConditionFact[], string] =
    'metadata' in requirement
      ? [
          listStating('metadata'),
          ['metadata'],
          `a new version must have the metadata ${requirement.metadata.join(', ')}`,
        ]
      : [
          [...listStating('manifestPath'), 'ChooseLocation', 'ChooseStorage'],
          ['location', 'manifestPath'],
          // It does not name the folders: they may be hidden from the caller.
          'data may be in some folders only',
        ]
  const text = JSON.stringify(requirement)
  const condition = { text, facts, readsId: false, tags: [], requirement }
  return { permissions: new Set(permissions), message, condition }
}

// White space, control characters, Unicode default-ignorable characters and the Braille blank.
const invisibleText = /^[\p{White_Space}\p{C}\p{Default_Ignorable_Code_Point}\u2800]*$/u

/** Whether a commit violates the requirement. Throws MissingFactError if that depends on an unknown or pending fact. */
export function isViolated(requirement: RequirementData, { operation, permission }: ConditionInput): boolean {
  const { metadata, location, manifestPath } = known(operation)
  if ('metadata' in requirement) {
    const stated = factValue(metadata)
    return requirement.metadata.some((key) => invisibleText.test(stated.get(key) ?? ''))
  }
  if (permission === 'ChooseStorage') return true
  const path = factValue(permission === 'ChooseLocation' ? location : manifestPath)
  return !requirement.folders.some((folder) => isUnderFolder(path, folder))
}
