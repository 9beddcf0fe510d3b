import { hasFactType } from '../../../src/catalog-api/facts.ts'
import {
  getOperation,
  operationNames,
  type Operation,
  type RequirementTarget,
} from '../../../src/catalog-api/operations.ts'
import { getRequirements, type Requirement } from '../../../src/catalog-api/requirements.ts'
import { groupBy } from '../../../src/lib/collections.ts'
import { formatSource, type GeneratedTable } from './generated-table.ts'

const targets = {
  itself: '',
  beneath: 'everything beneath',
  'source branch': 'the branch `from_branch`',
  destination: 'the new id',
  root: 'the root',
} as const satisfies Record<Extract<RequirementTarget, string>, string>

/** What requests require besides the permission of their operation. */
export const requirementsReference: GeneratedTable = { name: 'requirements', rows: listRows() }

function listRows(): GeneratedTable['rows'] {
  const operations = new Map<string, string[]>()
  const add = (name: string, ...cells: readonly string[]): void => {
    const key = JSON.stringify(cells)
    operations.set(key, [...(operations.get(key) ?? []), code(name)])
  }
  for (const name of operationNames) {
    const operation = getOperation(name)
    const { entries } = operation
    for (const requirement of getRequirements(operation)) {
      add(
        name,
        code(requirement.permission),
        describeTarget(requirement.on),
        describeCondition(requirement, operation),
      )
    }
    if (entries !== undefined) {
      const names =
        typeof entries.operation === 'string' ? [entries.operation] : Object.values(entries.operation)
      add(name, names.map(code).join(', '), `each table in ${code(entries.member)}`, '')
    }
    if (operation.namesJob)
      add(name, 'the operation that started the job', 'its object', 'no rule decides the operation itself')
  }
  // Permissions that are required alike are one row.
  const alike = groupBy(operations, ([key, names]) =>
    JSON.stringify([...JSON.parse(key).slice(1), names.join(', ')]),
  )
  const rows = [...alike].map(([key, same]) => {
    const permissions = same.map(([required]) => String(JSON.parse(required)[0]))
    return [permissions.join(', '), ...(JSON.parse(key) as string[])]
  })
  return [['also required', 'on', 'if', 'by'], ...rows]
}

function describeTarget(on: RequirementTarget): string {
  if (typeof on === 'string') return targets[on]
  if ('idMember' in on) return `the object ${code(on.idMember)}`
  return `each object in ${code([on.member, ...on.path].join('.').replaceAll('.[]', '[]'))}`
}

function describeCondition({ when, isWithheld }: Requirement, { facts }: Operation): string {
  if (isWithheld) return 'else the response has no credentials'
  if (when === undefined) return ''
  if ('parameter' in when) return `query ${code(when.parameter)} is sent`
  if ('columns' in when) return `an uploaded column can refer to other objects`
  if ('member' in when) return `the body has ${code(when.member)}`
  const sources = facts.find(([fact]) => fact === when.fact)?.[1] ?? []
  const stated = sources.map(formatSource).join(' or ')
  if (when.is !== undefined) return `${stated} is ${code(when.is)}`
  return hasFactType(when.fact, 'flag') ? `${stated} is \`true\`` : `${stated} is sent`
}

function code(text: string): string {
  return `\`${text}\``
}
