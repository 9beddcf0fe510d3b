import { getOperation, operationNames } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { Condition, RequirementRestriction, RequirementData } from './condition.ts'
import { unknown, factValue, type Fact } from './fact.ts'
import { isUnderFolder } from './storage-path.ts'
import { createNameMatcher } from './name-pattern.ts'
import type { ConditionInput, OperationFacts } from './authorization-request.ts'

/** A rule that denies commits: the permissions it covers and the condition under which it denies. */
export interface CommitRequirement {
  readonly permissions: ReadonlySet<Permission>
  /** True if the commit violates the requirement. */
  readonly condition: Condition
}

const changes = operationNames.map(getOperation).filter(({ effect }) => effect !== 'read')

/** VendCredentials is included: credentials let a caller write to storage past the gateway. */
const everyChange = new Set<Permission>([
  ...changes.map(({ name }) => name),
  'OverwriteTable',
  'VendCredentials',
])

/** Permissions that change one branch or every branch of a table. A declared table has no branch yet. */
export const branchChanges: ReadonlySet<Permission> = new Set<Permission>([
  ...changes
    .filter(({ object }) => object !== 'namespace' && object !== 'none')
    .filter(({ effect, facts, unknownBranch }) => {
      const hasBranch = unknownBranch !== undefined || facts.some(([name]) => name === 'branch')
      return hasBranch || effect === 'commit'
    })
    .map(({ name }) => name),
  'OverwriteTable',
])

/** Permissions that change every branch, either always or depending on the request. */
export const wholeTableChanges: ReadonlySet<Permission> = new Set<Permission>([
  ...changes.filter(({ unknownBranch }) => unknownBranch !== undefined).map(({ name }) => name),
  'OverwriteTable',
])

// White space, control characters, Unicode default-ignorable characters and the Braille blank.
const invisibleText = /^[\p{White_Space}\p{C}\p{Default_Ignorable_Code_Point}\u2800]*$/u

export function restoreRequirement(requirement: RequirementData): CommitRequirement {
  if ('metadata' in requirement) return requireMetadataKeys(requirement.metadata)
  if ('folders' in requirement) return allowOnlyFolders(requirement.folders)
  if ('freeze' in requirement) {
    const [from, until] = requirement.freeze
    return freezeChanges(from ?? undefined, until ?? undefined)
  }
  const wholeTable = new Set(requirement.allowWholeTable)
  return 'branches' in requirement
    ? allowOnlyBranches(requirement.branches, wholeTable)
    : denyBranches(requirement.notBranches, wholeTable)
}

/** Requires that every new version has these metadata keys, each with a visible value. */
export function requireMetadataKeys(keys: readonly string[]): CommitRequirement {
  return createRequirement('metadata', ['CreateTableVersion'], { metadata: keys }, ['metadata'], (facts) => {
    const metadata = factValue(facts.metadata)
    return keys.some((key) => invisibleText.test(metadata.get(key) ?? ''))
  })
}

/** `wholeTable`: permissions for whole-table changes that stay allowed. */
export function allowOnlyBranches(
  patterns: readonly string[],
  wholeTable: ReadonlySet<Permission>,
): CommitRequirement {
  const matchers = patterns.map(createNameMatcher)
  return createBranchRequirement(
    { branches: patterns },
    wholeTable,
    (branch) => !matchers.some((matches) => matches(branch)),
  )
}

/** `wholeTable`: permissions for whole-table changes that stay allowed. */
export function denyBranches(
  patterns: readonly string[],
  wholeTable: ReadonlySet<Permission>,
): CommitRequirement {
  const matchers = patterns.map(createNameMatcher)
  return createBranchRequirement({ notBranches: patterns }, wholeTable, (branch) =>
    matchers.some((matches) => matches(branch)),
  )
}

/** Requires that staging manifests and chosen locations are under one of the folders, and denies ChooseStorage. */
export function allowOnlyFolders(folders: readonly string[]): CommitRequirement {
  const isOutside = (path: Fact<string>): boolean => {
    const value = factValue(path)
    return !folders.some((folder) => isUnderFolder(value, folder))
  }
  return createRequirement(
    'folders',
    ['CreateTableVersion', 'ChooseLocation', 'ChooseStorage'],
    { folders },
    ['location', 'manifestPath'],
    ({ location, manifestPath }, { permission }) => {
      if (permission === 'ChooseStorage') return true
      return isOutside(permission === 'ChooseLocation' ? location : manifestPath)
    },
  )
}

/** Denies every change from `from` (inclusive) to `until` (exclusive), in milliseconds since the epoch. */
export function freezeChanges(from: number | undefined, until: number | undefined): CommitRequirement {
  const data: RequirementData = { freeze: [from ?? null, until ?? null] }
  return {
    permissions: everyChange,
    condition: {
      text: JSON.stringify(data),
      facts: [],
      readsId: false,
      readsTime: true,
      requirement: { kind: 'freeze', allowedWholeTable: new Set(), data },
      evaluate({ request }) {
        const now = request.now.getTime()
        return now >= (from ?? Number.NEGATIVE_INFINITY) && now < (until ?? Number.POSITIVE_INFINITY)
      },
    },
  }
}

function createBranchRequirement(
  content: { readonly branches: readonly string[] } | { readonly notBranches: readonly string[] },
  wholeTable: ReadonlySet<Permission>,
  isForbidden: (branch: string) => boolean,
): CommitRequirement {
  const named = wholeTable.size > 0 ? { allowWholeTable: [...wholeTable] } : {}
  return createRequirement(
    'branches',
    branchChanges,
    { ...content, ...named },
    ['branch'],
    ({ branch }, { permission }) => {
      if (branch !== unknown) return isForbidden(factValue(branch))
      // CreateTable has an unknown branch only for the destination of a rename.
      return !wholeTable.has(permission === 'CreateTable' ? 'RenameTable' : permission)
    },
    wholeTable,
  )
}

function createRequirement(
  kind: RequirementRestriction['kind'],
  permissions: Iterable<Permission>,
  data: RequirementData,
  facts: readonly (keyof OperationFacts)[],
  fails: (facts: OperationFacts, input: ConditionInput) => boolean,
  allowedWholeTable: ReadonlySet<Permission> = new Set(),
): CommitRequirement {
  return {
    permissions: new Set(permissions),
    condition: {
      text: JSON.stringify(data),
      facts,
      readsId: false,
      readsTime: false,
      requirement: { kind, allowedWholeTable, data },
      evaluate: (input) => fails(input.operation, input),
    },
  }
}
