import type { Permission } from '../catalog-api/index.ts'
import { groupBy } from '../lib/index.ts'
import {
  formatGrants,
  formatPart,
  formatPolicySubject,
  formatPolicySubjects,
  formatRule,
  formatSight,
  type Grant,
} from '../policy/index.ts'
import type { createAccessReport } from './access-report.ts'

type AccessReport = ReturnType<typeof createAccessReport>
type Caller = AccessReport['callers'][number]

/** Puts a report into words: of callers, a table with a cell for each group of operations, and what `policy who-can` says. */
export function formatAccessReport({ id, groups, columns, callers, forTables }: AccessReport) {
  const isTable = callers.some(({ sees }) => sees !== undefined)
  return {
    id,
    titles: ['Caller', ...(isTable ? ['Sees'] : []), ...groups.map(({ name }) => name)],
    callers: callers.map((caller) => ({
      name: formatPolicySubject(caller.subject),
      cells: [
        ...(caller.sees === undefined ? [] : [formatSight(caller.sees, columns)]),
        ...groups.map(({ operations }) => formatGranted(caller, operations)),
      ],
      grants: formatGrants(mergeOperations(caller)).join('\n'),
    })),
    forTables: forTables.map(formatTableRule),
  }
}

function formatTableRule(one: AccessReport['forTables'][number]): string {
  const about = `${one.tables.join(', ')}: ${formatRule(one.rule)}`
  if (one.columns === undefined) return about
  return `${about}: ${formatPart(one.columns, 'rows' in one ? one.rows : undefined)}`
}

/** `all`, `2 of 7, if; not group temps`; `–` for none. */
function formatGranted({ grants }: Caller, operations: readonly Permission[]): string {
  const own = grants.filter(({ operation, sees }) => operations.includes(operation) && sees !== 'nothing')
  const all = new Set(own.map(({ operation }) => operation))
  if (all.size === 0) return '–'
  const certain = new Set(own.filter((grant) => !isConditional(grant)).map(({ operation }) => operation))
  const denied = new Set(own.flatMap(listDenied))
  return (
    (all.size === operations.length ? 'all' : `${all.size} of ${operations.length}`) +
    (certain.size < all.size ? ', if' : '') +
    (denied.size === 0 ? '' : `; not ${[...denied].join(', ')}`)
  )
}

/** The callers among those of the grant that never have the permission, whatever they send. */
function listDenied({ except, unless }: Grant): readonly string[] {
  const denied = unless.flatMap((deny) => (deny.if === undefined && deny.subjects ? [deny.subjects] : []))
  return [...(except ? [except] : []), ...denied].map(formatPolicySubjects)
}

function isConditional({ if: condition, unless }: Grant): boolean {
  return condition !== undefined || unless.some((deny) => deny.if !== undefined)
}

/** Merges the grants that differ in their operations only. */
function mergeOperations({ grants }: Caller): readonly Grant[] {
  const merged = groupBy(grants, (grant) => JSON.stringify({ ...grant, operation: undefined }))
  return [...merged.values()].flatMap((own) =>
    own.slice(0, 1).map((grant) => ({ ...grant, operations: own.map((one) => one.operation) })),
  )
}
