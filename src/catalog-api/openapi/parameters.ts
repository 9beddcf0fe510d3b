import { getMembers } from '../../lib/json/is-object.ts'
import { factTypes } from '../facts.ts'
import { factHeaders } from '../headers.ts'
import { defaultDelimiter } from '../identifiers.ts'
import type { JsonSchema } from './json-schemas.ts'
import type { Operation, ParameterType } from '../operations.ts'

const parameterSchemas: Record<ParameterType, JsonSchema> = {
  string: { type: 'string' },
  strings: { type: 'array', items: { type: 'string' }, minItems: 1 },
  integer: { type: 'integer', format: 'int32', minimum: 0, maximum: 2_147_483_647 },
  boolean: { type: 'boolean' },
}

export const sharedParameters = {
  id: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'The parts of the id, joined by the delimiter. The root namespace is the delimiter alone.',
    schema: { type: 'string', minLength: 1 },
  },
  index_name: { name: 'index_name', in: 'path', required: true, schema: { type: 'string', minLength: 1 } },
  delimiter: {
    name: 'delimiter',
    in: 'query',
    description: 'The delimiter of ids in this request.',
    schema: { type: 'string', minLength: 1, default: defaultDelimiter },
  },
} as const

export function describeParameters(operation: Operation, members: JsonSchema): object[] {
  const inPath = (['id', 'index_name'] as const).filter((name) => operation.path.includes(`{${name}}`))
  const inQuery = [...operation.query].filter(([name]) => name !== 'delimiter')
  return [
    ...[...inPath, 'delimiter'].map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ...inQuery.map(([name, type]) => ({
      name,
      in: 'query',
      required: operation.required.includes(name),
      schema: { ...parameterSchemas[type], ...pickDocumentation(members[name]) },
    })),
    ...describeHeaders(operation),
  ]
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
