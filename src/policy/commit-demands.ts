import { operationNamed, operationNames } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'
import type { Condition, Demand } from './condition.ts'
import { unknown, valueOf, type Fact } from './fact.ts'
import { liesUnder } from './folder-paths.ts'
import { matcherOf } from './name-pattern.ts'
import type { Inquiry, OperationFacts } from './question.ts'

/** What may fail a demand, and when it does. */
export interface CommitDemand {
  readonly permissions: ReadonlySet<Permission>
  /** Whether a commit fails it. */
  readonly condition: Condition
}

const changes = operationNames.map(operationNamed).filter(({ effect }) => effect !== 'read')

/** Everything that changes something, and credentials, which let a caller change it past the gateway. */
const everyChange = new Set<Permission>([
  ...changes.map(({ name }) => name),
  'OverwriteTable',
  'VendCredentials',
])

/** What changes a branch, or every branch of a table. A declared table has none yet. */
export const changesOfBranches: ReadonlySet<Permission> = new Set<Permission>([
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
const invisible = /^[\p{White_Space}\p{C}\p{Default_Ignorable_Code_Point}\u2800]*$/u

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
  return demandOf(requirement).condition
}

function demandOf(requirement: Requirement): CommitDemand {
  if ('metadata' in requirement) return metadataKeys(requirement.metadata)
  if ('folders' in requirement) return foldersOnly(requirement.folders)
  if ('freeze' in requirement) {
    const [from, until] = requirement.freeze
    return frozen(from ?? undefined, until ?? undefined)
  }
  const wholeTable = new Set(requirement.allowWholeTable)
  return 'branches' in requirement
    ? branchesOnly(requirement.branches, wholeTable)
    : notBranches(requirement.notBranches, wholeTable)
}

/** Every new version has these keys in its metadata, each with a value that can be seen. */
export function metadataKeys(keys: readonly string[]): CommitDemand {
  return demand('metadata', ['CreateTableVersion'], { metadata: keys }, ['metadata'], (facts) => {
    const metadata = valueOf(facts.metadata)
    return keys.some((key) => invisible.test(metadata.get(key) ?? ''))
  })
}

/** Only branches that match one of the patterns are changed, and whole tables only by the changes that are named. */
export function branchesOnly(patterns: readonly string[], wholeTable: ReadonlySet<Permission>): CommitDemand {
  const matchers = patterns.map(matcherOf)
  return branchDemand(
    { branches: patterns },
    wholeTable,
    (branch) => !matchers.some((matches) => matches(branch)),
  )
}

/** No branch that matches one of the patterns is changed, and whole tables only by the changes that are named. */
export function notBranches(patterns: readonly string[], wholeTable: ReadonlySet<Permission>): CommitDemand {
  const matchers = patterns.map(matcherOf)
  return branchDemand({ notBranches: patterns }, wholeTable, (branch) =>
    matchers.some((matches) => matches(branch)),
  )
}

/** Staging manifests, and locations that are chosen, lie under one of the folders; storage options name no other store. */
export function foldersOnly(folders: readonly string[]): CommitDemand {
  const isOutside = (path: Fact<string>): boolean => {
    const value = valueOf(path)
    return !folders.some((folder) => liesUnder(value, folder))
  }
  return demand(
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
export function frozen(from: number | undefined, until: number | undefined): CommitDemand {
  return {
    permissions: everyChange,
    condition: {
      text: JSON.stringify({ freeze: [from ?? null, until ?? null] }),
      facts: [],
      readsId: false,
      readsTime: true,
      demand: { kind: 'freeze', allowedWholeTable: new Set() },
      holds({ request }) {
        const now = request.now.getTime()
        return now >= (from ?? Number.NEGATIVE_INFINITY) && now < (until ?? Number.POSITIVE_INFINITY)
      },
    },
  }
}

function branchDemand(
  content: object,
  wholeTable: ReadonlySet<Permission>,
  isForbidden: (branch: string) => boolean,
): CommitDemand {
  const named = wholeTable.size > 0 ? { allowWholeTable: [...wholeTable] } : {}
  return demand(
    'branches',
    changesOfBranches,
    { ...content, ...named },
    ['branch'],
    ({ branch }, { permission }) => {
      if (branch !== unknown) return isForbidden(valueOf(branch))
      // A table that is created with all its branches is the destination of a rename.
      return !wholeTable.has(permission === 'CreateTable' ? 'RenameTable' : permission)
    },
    wholeTable,
  )
}

function demand(
  kind: Demand['kind'],
  permissions: Iterable<Permission>,
  content: object,
  facts: readonly (keyof OperationFacts)[],
  fails: (facts: OperationFacts, inquiry: Inquiry) => boolean,
  allowedWholeTable: ReadonlySet<Permission> = new Set(),
): CommitDemand {
  return {
    permissions: new Set(permissions),
    condition: {
      text: JSON.stringify(content),
      facts,
      readsId: false,
      readsTime: false,
      demand: { kind, allowedWholeTable },
      holds: (inquiry) => fails(inquiry.operation, inquiry),
    },
  }
}
