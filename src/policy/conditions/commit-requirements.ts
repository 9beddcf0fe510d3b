import type { FactName } from '../../catalog-api/facts.ts'
import { getOperation, operationNames, type OperationName } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { ConditionInput, OperationFacts } from './authorization-request.ts'
import type { Condition, RequirementData } from './condition.ts'
import { factValue, known, type Fact } from './fact.ts'
import { isUnderFolder } from './storage-path.ts'

/** A rule that denies commits: the permissions it covers and the condition under which it denies. */
export interface CommitRequirement {
  readonly permissions: ReadonlySet<Permission>
  /** True if the commit violates the requirement. */
  readonly condition: Condition
  /** What the caller reads then. It does not name folders: they may be hidden from the caller. */
  readonly message: string
}

function listOperationsWith(fact: FactName): readonly OperationName[] {
  return operationNames.filter((name) => getOperation(name).facts.some(([stated]) => stated === fact))
}

// White space, control characters, Unicode default-ignorable characters and the Braille blank.
const invisibleText = /^[\p{White_Space}\p{C}\p{Default_Ignorable_Code_Point}\u2800]*$/u

/** Restores the condition of a requirement; its permissions are those of the rule. */
export function restoreRequirement(requirement: RequirementData): Condition {
  return 'metadata' in requirement
    ? requireMetadataKeys(requirement.metadata).condition
    : allowOnlyFolders(requirement.folders).condition
}

/** Requires that every new version has these metadata keys, each with a visible value. */
export function requireMetadataKeys(keys: readonly string[]): CommitRequirement {
  const message = `a new version must have the metadata ${keys.join(', ')}`
  const data = { metadata: keys }
  return createRequirement(listOperationsWith('metadata'), data, message, ['metadata'], (facts) => {
    const metadata = factValue(facts.metadata)
    return keys.some((key) => invisibleText.test(metadata.get(key) ?? ''))
  })
}

/** Requires that staging manifests and chosen locations are under one of the folders, and denies ChooseStorage. */
export function allowOnlyFolders(folders: readonly string[]): CommitRequirement {
  const isOutside = (path: Fact<string>): boolean => {
    const value = factValue(path)
    return !folders.some((folder) => isUnderFolder(value, folder))
  }
  return createRequirement(
    [...listOperationsWith('manifestPath'), 'ChooseLocation', 'ChooseStorage'],
    { folders },
    'data may be in some folders only',
    ['location', 'manifestPath'],
    ({ location, manifestPath }, { permission }) => {
      if (permission === 'ChooseStorage') return true
      return isOutside(permission === 'ChooseLocation' ? location : manifestPath)
    },
  )
}

function createRequirement(
  permissions: readonly Permission[],
  data: RequirementData,
  message: string,
  facts: readonly (keyof OperationFacts)[],
  fails: (facts: OperationFacts, input: ConditionInput) => boolean,
): CommitRequirement {
  return {
    permissions: new Set(permissions),
    message,
    condition: {
      text: JSON.stringify(data),
      facts,
      readsId: false,
      tags: [],
      requirement: data,
      evaluate: (input) => fails(known(input.operation), input),
    },
  }
}
