import { labelOf } from './rule-fields.ts'
import {
  branchesOnly,
  foldersOnly,
  frozen,
  metadataKeys,
  notBranches,
  type CommitDemand,
} from './commit-demands.ts'
import { faultOfFolder } from './folder-paths.ts'
import { commitFields, freezeFields, requirementFields } from './language.ts'
import type { PolicyRule } from './policy-document.ts'
import { exceptionsOf } from './subject-fields.ts'
import { fieldsOf, itemsOf, optional, someTextsOf, textOf, type Field, type Report } from './yaml-fields.ts'

const demandNames = ['metadata', 'branches', 'notBranches', 'folders', 'freeze'] as const

/** The requirements of a `commits` block, each still to be read. */
export function requirementsOf(field: Field, report: Report): readonly Field[] {
  const fields = fieldsOf(field, commitFields, report)
  return fields === undefined ? [] : (itemsOf(fields.require, '[{ id, branches }]', report) ?? [])
}

/** What is required of commits, as a rule that denies those that fail it; every fault is reported. */
export function requirementOf(field: Field, line: number, report: Report): PolicyRule | undefined {
  const fields = fieldsOf(field, requirementFields, report)
  if (fields === undefined) return undefined
  const id = labelOf(fields.id, report)
  const except = optional(fields.except, (field) => exceptionsOf(field, report))
  const [name, ...more] = demandNames.filter((name) => fields[name].node !== undefined)
  if (name === undefined || more.length > 0) {
    const found = name === undefined ? 'demands nothing' : `demands ${[name, ...more].join(' and ')}`
    report(field.offset, `${field.name} ${found}; expected exactly one of ${demandNames.join(', ')}`)
    return undefined
  }
  const demand = demandReaders[name](fields[name], report)
  if (id === undefined || demand === undefined) return undefined
  const { permissions, condition } = demand
  const subjects = { users: [], groups: [], keys: [], any: true, anonymous: true, except }
  return { id, effect: 'deny', subjects, permissions, tables: undefined, condition, line }
}

type ReadDemand = (field: Field, report: Report) => CommitDemand | undefined

const demandReaders: Readonly<Record<(typeof demandNames)[number], ReadDemand>> = {
  metadata: (field, report) => metadataKeys(someTextsOf(field, '[ticket]', report, () => undefined)),
  branches: (field, report) => branchesOnly(someTextsOf(field, '["ci/*"]', report, () => undefined)),
  notBranches: (field, report) => notBranches(someTextsOf(field, '[main]', report, () => undefined)),
  folders: (field, report) =>
    foldersOnly(
      someTextsOf(field, '["s3://bucket/team"]', report, (folder, item) => {
        const fault = faultOfFolder(folder)
        if (fault !== undefined) report(item.offset, `${item.name}: ${fault}`)
      }),
    ),
  freeze: (field, report) => {
    const fields = fieldsOf(field, freezeFields, report)
    if (fields === undefined) return undefined
    const from = optional(fields.from, (field) => timeOf(field, report))
    const until = optional(fields.until, (field) => timeOf(field, report))
    if (from !== undefined && until !== undefined && until <= from) {
      report(fields.until.offset, `${fields.until.name} is not after ${fields.from.name}`)
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
