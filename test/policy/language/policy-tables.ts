import { describeFactSource, hasFactType, type FactSource } from '../../../src/catalog-api/facts.ts'
import {
  getOperation,
  operationNames,
  type Operation,
  type RequirementTarget,
} from '../../../src/catalog-api/operations.ts'
import { listGroupParts, permissionGroups } from '../../../src/catalog-api/permissions.ts'
import { getRequirements, type Requirement } from '../../../src/catalog-api/requirements.ts'
import { groupBy } from '../../../src/lib/collections.ts'
import { conditionVariables } from '../../../src/policy/conditions/condition-variables.ts'
import { policySchema } from '../../../src/policy/language/policy-schema.ts'
import { toJsonSchema, type JsonSchema } from '../../../src/policy/language/schema-parts.ts'

/** A table in docs/policy-reference.md that `npm run reference` writes between two comments. */
export interface GeneratedTable {
  readonly name: string
  /** Rows of cells, the heading first. */
  readonly rows: readonly (readonly string[])[]
}

/** Replaces the table in the text. */
export function replaceTable(text: string, { name, rows: [headings = [], ...rows] }: GeneratedTable): string {
  const lines = [headings, headings.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`)
  return text.replace(tablePattern(name), () => `\n${lines.join('\n')}\n\n`)
}

/** Rows of the table in the text, without the padding of cells. */
export function readTable(text: string, { name }: GeneratedTable): readonly string[] {
  const rows = tablePattern(name).exec(text)?.[0].trim().split('\n') ?? []
  return rows.map((row) => row.replaceAll(/ *\| */g, '|').replaceAll(/-+/g, '-'))
}

/** Where a request states a fact, such as "body `mode`", which is shorter than in messages of errors. */
function formatSource(source: FactSource): string {
  return describeFactSource(source)
    .replace(/^the member (".*") of the body$/, 'body $1')
    .replace(/^the query parameter /, 'query ')
    .replace(/^the header /, 'header ')
    .replace(/^(".*") among the properties$/, 'properties $1')
    .replaceAll('"', '`')
}

function tablePattern(name: string): RegExp {
  return new RegExp(`(?<=<!-- ${name}: npm run reference -->\\n)[^]*?(?=<!-- end -->)`)
}

/** Shown with their own tables, or of no interest to readers. */
const hidden: readonly string[] = [
  'apiVersion',
  'kind',
  'metadata',
  'rules.subjects.',
  'restrict.subjects.',
  'commits.except.',
  'tests.',
]

/** The fields of a document with what the schema says of them. */
const fieldsReference: GeneratedTable = {
  name: 'fields',
  rows: [['field', 'meaning'], ...listFields(toJsonSchema(policySchema), '')],
}

function listFields({ properties = {}, required = [] }: JsonSchema, path: string): string[][] {
  return Object.entries(properties).flatMap(([name, field]) => {
    if (typeof field === 'boolean' || hidden.includes(path + name) || hidden.includes(path)) return []
    const isRequired = required.includes(name) ? ' (required)' : ''
    const { description = '', items, additionalProperties } = field
    const row = [`\`${path}${name}\`${isRequired}`, description.replaceAll('|', String.raw`\|`)]
    const inner = [field, items, additionalProperties].filter((one) => isMap(one))
    return [row, ...inner.flatMap((one) => listFields(one, `${path}${name}.`))]
  })
}

function isMap(schema: unknown): schema is JsonSchema {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema) && 'properties' in schema
}

const whole: Readonly<Record<string, string>> = {
  change: 'everything in the other groups, but `references`, that changes something',
  all: 'everything in the other groups, but `references`',
}

/** The groups of operations with their members, or the groups beneath. */
const groupsReference: GeneratedTable = {
  name: 'groups',
  rows: [
    ['group', 'holds'],
    ...[...permissionGroups].map(([group, members]) => {
      const parts = listGroupParts(group).filter((part) => part !== group)
      const inParts = new Set(parts.flatMap((part) => permissionGroups.get(part) ?? []))
      const own = members.filter((member) => !inParts.has(member))
      return [`\`${group}\``, whole[group] ?? [...parts, ...own].map((name) => `\`${name}\``).join(', ')]
    }),
  ],
}

const targets = {
  itself: '',
  beneath: 'everything beneath',
  'source branch': 'the branch `from_branch`',
  destination: 'the new id',
  root: 'the root',
} as const satisfies Record<Extract<RequirementTarget, string>, string>

/** What requests require besides the permission of their operation. */
function listRequirements(): GeneratedTable['rows'] {
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

/** Names of stated facts in conditions, if different; two facts of the request form one of conditions. */
const inConditions: Readonly<Record<string, string>> = { newNamespace: 'destination', newName: 'destination' }

/** Whether conditions can read the fact; other facts only require additional permissions. */
const isCondition = (fact: string): boolean => (inConditions[fact] ?? fact) in conditionVariables

/** The facts that each operation states, and where. */
function listFacts(): GeneratedTable['rows'] {
  const operations = new Map<string, string[]>()
  for (const name of operationNames) {
    for (const [fact, locations] of getOperation(name).facts) {
      if (!isCondition(fact)) continue
      const key = JSON.stringify([inConditions[fact] ?? fact, locations.map(formatSource).join(' or ')])
      operations.set(key, [...(operations.get(key) ?? []), `\`${name}\``])
    }
  }
  const rows = [...operations].map(([key, names]) => {
    const [fact = '', locations = ''] = JSON.parse(key) as string[]
    return [`\`${fact}\``, locations, names.join(', ')] as const
  })
  rows.sort((one, other) => (one.join() < other.join() ? -1 : 1))
  return [['fact', 'stated in', 'of'], ...rows]
}

/** The tables of docs/policy-reference.md that `npm run reference` writes. */
export const policyTables: readonly GeneratedTable[] = [
  fieldsReference,
  groupsReference,
  { name: 'requirements', rows: listRequirements() },
  { name: 'facts', rows: listFacts() },
]
