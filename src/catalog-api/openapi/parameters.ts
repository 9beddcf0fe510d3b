import { getMembers } from '../../lib/index.ts'
import { factHeaders } from '../headers.ts'
import { defaultDelimiter } from '../identifiers.ts'
import type { JsonSchema } from '../schemas.ts'
import type { ObjectKind, Operation, ParameterType } from '../operations.ts'
import { getRequirements, type Requirement } from '../requirements.ts'

const parameterSchemas: Record<ParameterType, JsonSchema> = {
  string: { type: 'string' },
  strings: { type: 'array', items: { type: 'string' }, minItems: 1 },
  integer: { type: 'integer', format: 'int32', minimum: 0, maximum: 2_147_483_647 },
  long: { type: 'integer', format: 'int64', minimum: 0 },
  boolean: { type: 'boolean' },
}

function inPath(name: string, schema: JsonSchema, example: unknown) {
  return { name, in: 'path', required: true, schema, example }
}

const name: JsonSchema = { type: 'string', minLength: 1 }

/** The last part of the example of an id, by the kind of the object in the namespace `sales`. */
const nameExamples: Readonly<Partial<Record<ObjectKind, string>>> = {
  table: 'orders',
  transaction: 'orders$1',
  materialized_view: 'large_orders',
  view: 'recent_orders',
  function: 'total',
  secret: 'token',
}

export const sharedParameters = {
  index_name: inPath('index_name', name, 'amount_idx'),
  column: inPath('column', name, 'amount'),
  row_id: inPath('row_id', parameterSchemas.long, 0),
  delimiter: {
    name: 'delimiter',
    in: 'query',
    description: 'The delimiter of ids in this request.',
    schema: { type: 'string', minLength: 1, default: defaultDelimiter },
  },
} as const

/** `example` is that of the whole request: its members are parameters if the body has none. */
export function describeParameters(operation: Operation, members: JsonSchema, example: unknown): object[] {
  const { path, object, body } = operation
  const names = ['index_name', 'column', 'row_id'].filter((name) => path.includes(`{${name}}`))
  const shared = [...names, 'delimiter']
  const inQuery = [...operation.query].filter(([name]) => name !== 'delimiter')
  const examples = body === 'json' || body === 'map' ? {} : getMembers(example)
  return [
    ...(path.includes('{id}') ? [describeId(object)] : []),
    ...shared.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ...inQuery.map(([name, type]) => ({
      name,
      in: 'query',
      required: operation.required.includes(name),
      schema: { ...parameterSchemas[type], ...pickDocumentation(members[name]) },
      ...(examples[name] !== undefined && { example: examples[name] }),
    })),
    ...[...listFactHeaders(operation), ...operation.requestHeaders].map((name) => ({
      name,
      in: 'header',
      schema: { type: 'string' },
    })),
  ]
}

function describeId(object: ObjectKind): object {
  const example = nameExamples[object]
  return {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The parts of the id, joined by the delimiter. The root namespace is the delimiter alone.',
    schema: { type: 'string', minLength: 1 },
    example: example === undefined ? 'sales' : `sales${defaultDelimiter}${example}`,
  }
}

function listFactHeaders({ facts }: Operation): readonly string[] {
  const sources = facts.flatMap(([, all]) => all).filter((source) => source.in === 'header')
  return sources.map(({ name }) => factHeaders[name] ?? name)
}

/** A parameter has another syntax than the member of its name, but the same documentation. */
function pickDocumentation(member: unknown): JsonSchema {
  const { description } = getMembers(member)
  return description === undefined ? {} : { description }
}

/** The permissions of the operation, from the facts by which the gateway decides. */
export function describePermissions(operation: Operation): string {
  const { name, group } = operation
  const own = `Needs the permission ${name}, ${group === undefined ? 'of no group' : `of the group ${group}`}.`
  const further = getRequirements(operation).map(describeRequirement)
  return further.length === 0 ? own : [own, '', ...further.map((text) => `- ${text}`)].join('\n')
}

function describeRequirement({ permission, on, when, requiredBy, isWithheld }: Requirement): string {
  const target = typeof on === 'object' ? 'the object that the body names' : requirementTargets[on]
  const text = `${permission} on ${target}`
  if (isWithheld) return `For ${requiredBy}: ${text}; without it the response has no credentials.`
  return when === undefined ? `Also ${text} (${requiredBy}).` : `For ${requiredBy}: ${text}.`
}

const requirementTargets = {
  itself: 'the same object',
  beneath: 'everything beneath it',
  'source branch': 'the branch that it is made from',
  destination: 'the new id',
  root: 'the root',
} as const
