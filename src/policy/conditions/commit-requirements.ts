import type { FactName } from '../../catalog-api/facts.ts'
import {
  getOperation,
  operationNames,
  type Operation,
  type OperationName,
} from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { destinationPermission } from '../../catalog-api/requirements.ts'
import type { Condition } from './condition.ts'
import type { RequirementData } from './requirement-data.ts'
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

/** The permissions that commit requirements restrict. */
export interface ChangePermissions {
  readonly every: ReadonlySet<Permission>
  /** Permissions that change one branch or every branch of a table. A declared table has no branch yet. */
  readonly branch: ReadonlySet<Permission>
  /** Permissions that change every branch, either always or depending on the request. */
  readonly wholeTable: ReadonlySet<Permission>
}

/** Lists the changes of the catalog API and those of extra operations. */
export function listChangePermissions(extraOperations: readonly Operation[]): ChangePermissions {
  const operations = [...operationNames.map(getOperation), ...extraOperations]
  const changes = operations.filter(({ effect }) => effect !== 'read')
  const branchChanges = changes
    .filter(({ object }) => object !== 'namespace' && object !== 'none')
    .filter(({ effect, facts, unknownBranch }) => {
      const hasBranch = unknownBranch !== undefined || facts.some(([name]) => name === 'branch')
      return hasBranch || effect === 'commit'
    })
  const wholeTableChanges = changes.filter(({ unknownBranch }) => unknownBranch !== undefined)
  return {
    // VendCredentials is included: credentials let a caller write to storage past the gateway.
    every: new Set([...changes.map(({ name }) => name), 'OverwriteTable', 'VendCredentials'] as const),
    branch: new Set([...branchChanges.map(({ name }) => name), 'OverwriteTable'] as const),
    wholeTable: new Set([...wholeTableChanges.map(({ name }) => name), 'OverwriteTable'] as const),
  }
}

/** Without extra operations. */
export const builtInChanges = listChangePermissions([])

function listOperationsWith(fact: FactName): readonly OperationName[] {
  return operationNames.filter((name) => getOperation(name).facts.some(([stated]) => stated === fact))
}

// White space, control characters, Unicode default-ignorable characters and the Braille blank.
const invisibleText = /^[\p{White_Space}\p{C}\p{Default_Ignorable_Code_Point}\u2800]*$/u

/** Restores the condition of a requirement; its permissions are those of the rule. */
export function restoreRequirement(requirement: RequirementData): Condition {
  if ('metadata' in requirement) return requireMetadataKeys(requirement.metadata).condition
  if ('folders' in requirement) return allowOnlyFolders(requirement.folders).condition
  if ('freeze' in requirement) {
    const { from, until } = requirement.freeze
    const [fromMs, untilMs] = [from, until].map((time) => (time === undefined ? undefined : Date.parse(time)))
    return freezeChanges(fromMs, untilMs).condition
  }
  const wholeTable = new Set(requirement.allowWholeTable)
  return 'branches' in requirement
    ? allowOnlyBranches(requirement.branches, wholeTable).condition
    : denyBranches(requirement.notBranches, wholeTable).condition
}

/** Requires that every new version has these metadata keys, each with a visible value. */
export function requireMetadataKeys(keys: readonly string[]): CommitRequirement {
  return createRequirement(listOperationsWith('metadata'), { metadata: keys }, ['metadata'], (facts) => {
    const metadata = factValue(facts.metadata)
    return keys.some((key) => invisibleText.test(metadata.get(key) ?? ''))
  })
}

/** `wholeTable`: permissions for whole-table changes that stay allowed. */
export function allowOnlyBranches(
  patterns: readonly string[],
  wholeTable: ReadonlySet<Permission>,
  changes = builtInChanges,
): CommitRequirement {
  const matchers = patterns.map(createNameMatcher)
  return createBranchRequirement(
    { branches: patterns },
    wholeTable,
    changes,
    (branch) => !matchers.some((matches) => matches(branch)),
  )
}

/** `wholeTable`: permissions for whole-table changes that stay allowed. */
export function denyBranches(
  patterns: readonly string[],
  wholeTable: ReadonlySet<Permission>,
  changes = builtInChanges,
): CommitRequirement {
  const matchers = patterns.map(createNameMatcher)
  return createBranchRequirement({ notBranches: patterns }, wholeTable, changes, (branch) =>
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
    [...listOperationsWith('manifestPath'), 'ChooseLocation', 'ChooseStorage'],
    { folders },
    ['location', 'manifestPath'],
    ({ location, manifestPath }, { permission }) => {
      if (permission === 'ChooseStorage') return true
      return isOutside(permission === 'ChooseLocation' ? location : manifestPath)
    },
  )
}

/** Denies every change from `from` (inclusive) to `until` (exclusive), in milliseconds since the epoch. */
export function freezeChanges(
  from: number | undefined,
  until: number | undefined,
  changes = builtInChanges,
): CommitRequirement {
  const data: RequirementData = {
    freeze: {
      ...(from !== undefined && { from: new Date(from).toISOString() }),
      ...(until !== undefined && { until: new Date(until).toISOString() }),
    },
  }
  return createRequirement(changes.every, data, [], (_facts, { request }) => {
    const now = request.now.getTime()
    return now >= (from ?? Number.NEGATIVE_INFINITY) && now < (until ?? Number.POSITIVE_INFINITY)
  })
}

function createBranchRequirement(
  content: { readonly branches: readonly string[] } | { readonly notBranches: readonly string[] },
  wholeTable: ReadonlySet<Permission>,
  changes: ChangePermissions,
  isForbidden: (branch: string) => boolean,
): CommitRequirement {
  const allowsRename = listOperationsWith('newName').some((name) => wholeTable.has(name))
  const named = wholeTable.size > 0 ? { allowWholeTable: [...wholeTable] } : {}
  return createRequirement(
    changes.branch,
    { ...content, ...named },
    ['branch'],
    ({ branch }, { permission }) => {
      if (branch !== unknown) return isForbidden(factValue(branch))
      // It has an unknown branch only for the destination of a rename.
      if (permission === destinationPermission) return !allowsRename
      return !wholeTable.has(permission)
    },
  )
}

function createRequirement(
  permissions: Iterable<Permission>,
  data: RequirementData,
  facts: readonly (keyof OperationFacts)[],
  fails: (facts: OperationFacts, input: ConditionInput) => boolean,
): CommitRequirement {
  return {
    permissions: new Set(permissions),
    condition: {
      text: JSON.stringify(data),
      facts,
      readsId: false,
      readsTime: 'freeze' in data,
      tags: [],
      contextKeys: [],
      requirement: data,
      evaluate: (input) => fails(input.operation, input),
    },
  }
}
