import { getMembers } from '../../lib/json/is-object.ts'
import { factTypes } from '../facts.ts'
import { factHeaders } from '../headers.ts'
import { defaultDelimiter } from '../identifiers.ts'
import { getIdExample, indexNameExample } from './examples.ts'
import type { JsonSchema } from './json-schemas.ts'
import type { ObjectKind, Operation, ParameterType } from '../operations.ts'

const parameterSchemas: Record<ParameterType, JsonSchema> = {
  string: { type: 'string' },
  strings: { type: 'array', items: { type: 'string' }, minItems: 1 },
  integer: { type: 'integer', format: 'int32', minimum: 0, maximum: 2_147_483_647 },
  boolean: { type: 'boolean' },
}

export const sharedParameters = {
  index_name: {
    name: 'index_name',
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
    example: indexNameExample,
  },
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
  const shared = [...(path.includes('{index_name}') ? ['index_name'] : []), 'delimiter']
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
    ...describeHeaders(operation),
  ]
}

function describeId(object: ObjectKind): object {
  return {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The parts of the id, joined by the delimiter. The root namespace is the delimiter alone.',
    schema: { type: 'string', minLength: 1 },
    example: getIdExample(object),
  }
}

function describeHeaders({ facts }: Operation): object[] {
  return facts.flatMap(([fact, sources]) =>
    sources
      .filter((source) => source.in === 'header')
      .map(({ name }) => ({
        name: factHeaders[name],
        in: 'header',
        ...(factTypes[fact] === 'map' && { description: 'JSON text of an object of strings.' }),
        schema: { type: 'string' },
      })),
  )
}

/** A parameter has another syntax than the member of its name, but the same documentation. */
function pickDocumentation(member: unknown): JsonSchema {
  const { description } = getMembers(member)
  return description === undefined ? {} : { description }
}
