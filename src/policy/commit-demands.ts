import { operationNamed, operationNames } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'
import type { Condition } from './condition.ts'
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
/** Everything that changes something. */
const everyChange = new Set<Permission>([...changes.map(({ name }) => name), 'OverwriteTable'])
/** What happens on a branch: commits to a table, and changes of its branches and tags. */
const onBranches = new Set<Permission>([
  ...changes
    .filter(({ object, effect, name }) => object === 'table' && (effect === 'commit' || isReference(name)))
    .map(({ name }) => name),
  'OverwriteTable',
])

/** Every new version holds these keys in its metadata, and none is empty. */
export function metadataKeys(keys: readonly string[]): CommitDemand {
  return demand(['CreateTableVersion'], { metadata: keys }, ({ metadata }) =>
    keys.some((key) => (metadata.get(key) ?? '').trim() === ''),
  )
}

/** Only branches that match one of the patterns are changed. */
export function branchesOnly(patterns: readonly string[]): CommitDemand {
  const matchers = patterns.map(matcherOf)
  return demand(
    onBranches,
    { branches: patterns },
    ({ branch }) => !matchers.some((matches) => matches(branch)),
  )
}

/** No branch that matches one of the patterns is changed. */
export function notBranches(patterns: readonly string[]): CommitDemand {
  const matchers = patterns.map(matcherOf)
  return demand(onBranches, { notBranches: patterns }, ({ branch }) =>
    matchers.some((matches) => matches(branch)),
  )
}

/** Staging manifests, and locations that are chosen, lie under one of the folders. */
export function foldersOnly(folders: readonly string[]): CommitDemand {
  const isOutside = (path: string): boolean => !folders.some((folder) => liesUnder(path, folder))
  return demand(['CreateTableVersion', 'ChooseLocation'], { folders }, (facts, { permission }) =>
    isOutside(permission === 'ChooseLocation' ? facts.location : facts.manifestPath),
  )
}

/** Nothing is changed from one time on, in milliseconds, until before the other. */
export function frozen(from: number | undefined, until: number | undefined): CommitDemand {
  return {
    permissions: everyChange,
    condition: {
      text: JSON.stringify({ freeze: [from ?? null, until ?? null] }),
      needs: { body: false, object: false },
      holds({ request }) {
        const now = request.now.getTime()
        return now >= (from ?? Number.NEGATIVE_INFINITY) && now < (until ?? Number.POSITIVE_INFINITY)
      },
    },
  }
}

function isReference(name: string): boolean {
  return name.endsWith('TableBranch') || name.endsWith('TableTag')
}

function demand(
  permissions: Iterable<Permission>,
  content: object,
  fails: (facts: OperationFacts, inquiry: Inquiry) => boolean,
): CommitDemand {
  return {
    permissions: new Set(permissions),
    condition: {
      text: JSON.stringify(content),
      needs: { body: true, object: false },
      holds(inquiry) {
        if (inquiry.operation === undefined) throw new Error('the facts of the operation are not known')
        return fails(inquiry.operation, inquiry)
      },
    },
  }
}
