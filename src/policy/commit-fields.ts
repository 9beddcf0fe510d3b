import { labelOf, permissionsOf } from './rule-fields.ts'
import type { Permission } from '../interface/permissions.ts'
import {
  branchesOnly,
  foldersOnly,
  frozen,
  metadataKeys,
  notBranches,
  wholeTableChanges,
  type CommitDemand,
} from './commit-demands.ts'
import { faultOfFolder } from './folder-paths.ts'
import { commitFields, freezeFields, requirementFields } from './language.ts'
import type { PolicyRule } from './policy-document.ts'
import { exceptionsOf } from './subject-fields.ts'
import {
  anyText,
  fieldsReader,
  itemsOf,
  optional,
  someTextsOf,
  textOf,
  type Field,
  type Fields,
  type Report,
} from './yaml-fields.ts'

const readCommits = fieldsReader(commitFields)
const readRequirement = fieldsReader(requirementFields)
const readFreeze = fieldsReader(freezeFields)

const demandNames = ['metadata', 'branches', 'notBranches', 'folders', 'freeze'] as const

/** The requirements of a `commits` block, each still to be read. */
export function requirementsOf(field: Field, report: Report): readonly Field[] {
  const fields = readCommits(field, report)
  return fields === undefined ? [] : (itemsOf(fields.of('require'), '[{ id, branches }]', report) ?? [])
}

/** What is required of commits, as a rule that denies those that fail it; every fault is reported. */
export function requirementOf(field: Field, line: number, report: Report): PolicyRule | undefined {
  const fields = readRequirement(field, report)
  if (fields === undefined) return undefined
  const id = labelOf(fields.of('id'), report)
  const except = optional(fields, 'except', exceptionsOf, report)
  const wholeTable = wholeTableOf(fields, report)
  const [name, ...more] = demandNames.filter((name) => fields.has(name))
  if (name === undefined || more.length > 0) {
    const found =
      name === undefined ? 'has no requirement' : `has the requirements ${[name, ...more].join(' and ')}`
    report(field.offset, `${field.name} ${found}; expected exactly one of ${demandNames.join(', ')}`)
    return undefined
  }
  const demand = demandReaders[name](fields.of(name), report, wholeTable)
  if (id === undefined || demand === undefined) return undefined
  const { permissions, condition } = demand
  const subjects = { users: [], groups: [], keys: [], any: true, anonymous: true, except }
  return { id, effect: 'deny', subjects, permissions, tables: undefined, condition, line }
}

/** The whole-table changes that a requirement on branches allows all the same. */
function wholeTableOf(
  fields: Fields<keyof typeof requirementFields>,
  report: Report,
): ReadonlySet<Permission> {
  if (!fields.has('allowWholeTable')) return new Set()
  const field = fields.of('allowWholeTable')
  if (!fields.has('branches') && !fields.has('notBranches')) {
    report(field.offset, `${field.name} is allowed only with "branches" or "notBranches"`)
  }
  const named = permissionsOf(field, report)
  const allowed = new Set([...named].filter((permission) => wholeTableChanges.has(permission)))
  if (named.size > 0 && allowed.size === 0) {
    const expected = [...wholeTableChanges].join(', ')
    report(field.offset, `${field.name} has no whole-table operation; expected any of ${expected}`)
  }
  return allowed
}

type ReadDemand = (
  field: Field,
  report: Report,
  wholeTable: ReadonlySet<Permission>,
) => CommitDemand | undefined

const demandReaders: Readonly<Record<(typeof demandNames)[number], ReadDemand>> = {
  metadata: (field, report) => metadataKeys(someTextsOf(field, '[ticket]', report, anyText)),
  branches: (field, report, wholeTable) =>
    branchesOnly(someTextsOf(field, '["ci/*"]', report, anyText), wholeTable),
  notBranches: (field, report, wholeTable) =>
    notBranches(someTextsOf(field, '[main]', report, anyText), wholeTable),
  folders: (field, report) =>
    foldersOnly(
      someTextsOf(field, '["s3://bucket/team"]', report, (folder) => {
        const fault = faultOfFolder(folder)
        return fault === undefined ? undefined : (item) => `${item}: ${fault}`
      }),
    ),
  freeze: (field, report) => {
    const fields = readFreeze(field, report)
    if (fields === undefined) return undefined
    const from = optional(fields, 'from', timeOf, report)
    const until = optional(fields, 'until', timeOf, report)
    if (from !== undefined && until !== undefined && until <= from) {
      report(fields.of('until').offset, `${fields.of('until').name} is not after ${fields.of('from').name}`)
    }
    return frozen(from, until)
  },
}

const timeGrammar = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** A time with its offset from UTC (RFC 3339), as milliseconds. */
export function timeOf(field: Field, report: Report): number | undefined {
  const text = textOf(field, report)
  if (text === undefined) return undefined
  const time = timeGrammar.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(time)) return time
  report(
    field.offset,
    `${field.name} is ${JSON.stringify(text)}; expected a time such as 2026-12-20T00:00:00Z`,
  )
  return undefined
}
