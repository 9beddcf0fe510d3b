import {
  type FactName,
  getOperation,
  type OperationName,
  operationNames,
  type Permission,
} from '../../catalog-api/index.ts'
import type { ConditionFact, ConditionInput } from './authorization-request.ts'
import type { Condition, RequirementData } from './condition.ts'
import { factValue, known } from './fact.ts'
import { isUnderFolder } from './storage-path.ts'

/** A rule that denies commits: the permissions it covers and the condition under which it denies. */
interface CommitRequirement {
  readonly permissions: ReadonlySet<Permission>
  /** True if the commit violates the requirement. */
  readonly condition: Condition
  /** What the caller reads then. It does not name folders: they may be hidden from the caller. */
  readonly message: string
}

interface Requirement extends Pick<CommitRequirement, 'message'> {
  readonly permissions: readonly Permission[]
  readonly facts: readonly ConditionFact[]
  readonly isViolated: (input: ConditionInput) => boolean
}

export function createRequirement(data: RequirementData): CommitRequirement {
  const { permissions, message, facts, isViolated } =
    'metadata' in data ? requireMetadataKeys(data.metadata) : allowOnlyFolders(data.folders)
  const text = JSON.stringify(data)
  const condition = { text, facts, readsId: false, tags: [], requirement: data, evaluate: isViolated }
  return { permissions: new Set(permissions), message, condition }
}

// White space, control characters, Unicode default-ignorable characters and the Braille blank.
const invisibleText = /^[\p{White_Space}\p{C}\p{Default_Ignorable_Code_Point}\u2800]*$/u

/** Requires that every new version has these metadata keys, each with a visible value. */
function requireMetadataKeys(keys: readonly string[]): Requirement {
  return {
    permissions: listOperationsWith('metadata'),
    message: `a new version must have the metadata ${keys.join(', ')}`,
    facts: ['metadata'],
    isViolated: ({ operation }) => {
      const metadata = factValue(known(operation).metadata)
      return keys.some((key) => invisibleText.test(metadata.get(key) ?? ''))
    },
  }
}

/** Requires that staging manifests and chosen locations are under one of the folders, and denies ChooseStorage. */
function allowOnlyFolders(folders: readonly string[]): Requirement {
  return {
    permissions: [...listOperationsWith('manifestPath'), 'ChooseLocation', 'ChooseStorage'],
    message: 'data may be in some folders only',
    facts: ['location', 'manifestPath'],
    isViolated: ({ operation, permission }) => {
      const { location, manifestPath } = known(operation)
      if (permission === 'ChooseStorage') return true
      const path = factValue(permission === 'ChooseLocation' ? location : manifestPath)
      return !folders.some((folder) => isUnderFolder(path, folder))
    },
  }
}

function listOperationsWith(fact: FactName): readonly OperationName[] {
  return operationNames.filter((name) => getOperation(name).facts.some(([stated]) => stated === fact))
}
