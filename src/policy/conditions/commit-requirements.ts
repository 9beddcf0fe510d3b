import { getOperation, operationNames } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { Condition, RequirementRestriction } from './condition.ts'
import { unknown, factValue, type Fact } from './fact.ts'
import { isUnderFolder } from './storage-path.ts'
import { createNameMatcher } from './name-pattern.ts'
import type { ConditionInput, OperationFacts } from './authorization-request.ts'

/** What may fail a demand, and when it does. */
export interface CommitRequirement {
  readonly permissions: ReadonlySet<Permission>
  /** Whether a commit fails it. */
  readonly condition: Condition
}

const changes = operationNames.map(getOperation).filter(({ effect }) => effect !== 'read')

/** Everything that changes something, and credentials, which let a caller change it past the gateway. */
const everyChange = new Set<Permission>([
  ...changes.map(({ name }) => name),
  'OverwriteTable',
  'VendCredentials',
])

/** What changes a branch, or every branch of a table. A declared table has none yet. */
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

/** Those that touch every branch, always or by what they state. */
export const wholeTableChanges: ReadonlySet<Permission> = new Set<Permission>([
  ...changes.filter(({ unknownBranch }) => unknownBranch !== undefined).map(({ name }) => name),
  'OverwriteTable',
])

// Characters that nobody sees: white space, controls, what Unicode says to ignore, and the blank of Braille.
const invisibleText = /^[\p{White_Space}\p{C}\p{Default_Ignorable_Code_Point}\u2800]*$/u

/** The content of the text of the condition of a requirement. */
type Requirement =
  | { readonly metadata: readonly string[] }
  | { readonly branches: readonly string[]; readonly allowWholeTable?: readonly Permission[] }
  | { readonly notBranches: readonly string[]; readonly allowWholeTable?: readonly Permission[] }
  | { readonly folders: readonly string[] }
  | { readonly freeze: readonly [number | null, number | null] }

/** The condition of a requirement, from the text of that condition. */
export function requirementCondition(text: string): Condition {
  const requirement = JSON.parse(text) as Requirement
  return requirementOf(requirement).condition
}

function requirementOf(requirement: Requirement): CommitRequirement {
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

/** Every new version has these keys in its metadata, each with a value that can be seen. */
export function requireMetadataKeys(keys: readonly string[]): CommitRequirement {
  return createRequirement('metadata', ['CreateTableVersion'], { metadata: keys }, ['metadata'], (facts) => {
    const metadata = factValue(facts.metadata)
    return keys.some((key) => invisibleText.test(metadata.get(key) ?? ''))
  })
}

/** Only branches that match one of the patterns are changed, and whole tables only by the changes that are named. */
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

/** No branch that matches one of the patterns is changed, and whole tables only by the changes that are named. */
export function denyBranches(
  patterns: readonly string[],
  wholeTable: ReadonlySet<Permission>,
): CommitRequirement {
  const matchers = patterns.map(createNameMatcher)
  return createBranchRequirement({ notBranches: patterns }, wholeTable, (branch) =>
    matchers.some((matches) => matches(branch)),
  )
}

/** Staging manifests, and locations that are chosen, lie under one of the folders; storage options name no other store. */
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

/** Nothing is changed from one time on, in milliseconds, until before the other. */
export function freezeChanges(from: number | undefined, until: number | undefined): CommitRequirement {
  return {
    permissions: everyChange,
    condition: {
      text: JSON.stringify({ freeze: [from ?? null, until ?? null] }),
      facts: [],
      readsId: false,
      readsTime: true,
      requirement: { kind: 'freeze', allowedWholeTable: new Set() },
      evaluate({ request }) {
        const now = request.now.getTime()
        return now >= (from ?? Number.NEGATIVE_INFINITY) && now < (until ?? Number.POSITIVE_INFINITY)
      },
    },
  }
}

function createBranchRequirement(
  content: object,
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
      // A table that is created with all its branches is the destination of a rename.
      return !wholeTable.has(permission === 'CreateTable' ? 'RenameTable' : permission)
    },
    wholeTable,
  )
}

function createRequirement(
  kind: RequirementRestriction['kind'],
  permissions: Iterable<Permission>,
  content: object,
  facts: readonly (keyof OperationFacts)[],
  fails: (facts: OperationFacts, inquiry: ConditionInput) => boolean,
  allowedWholeTable: ReadonlySet<Permission> = new Set(),
): CommitRequirement {
  return {
    permissions: new Set(permissions),
    condition: {
      text: JSON.stringify(content),
      facts,
      readsId: false,
      readsTime: false,
      requirement: { kind, allowedWholeTable },
      evaluate: (inquiry) => fails(inquiry.operation, inquiry),
    },
  }
}
