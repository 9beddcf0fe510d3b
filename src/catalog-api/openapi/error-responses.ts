import { errorCodes, type ErrorName } from '../catalog-error.ts'
import { policyRevisionHeader, requestIdHeader } from '../headers.ts'
import { schemaReference } from './json-schemas.ts'
import type { Operation } from '../operations.ts'
import type { JsonSchema } from '../schemas.ts'

const commonErrors = [
  'InvalidInput',
  'Unauthenticated',
  'PermissionDenied',
  'Unsupported',
  'Throttling',
  'Internal',
  'ServiceUnavailable',
] as const satisfies readonly ErrorName[]

export const errorResponseSchema: JsonSchema = {
  type: 'object',
  required: ['error', 'code', 'instance'],
  properties: {
    error: { type: 'string', description: 'What was sent and what was expected, in a sentence.' },
    code: {
      type: 'integer',
      format: 'int32',
      description: Object.entries(errorCodes)
        .map(([name, { code }]) => `${code} ${name}`)
        .join(', '),
    },
    detail: { type: 'string' },
    context: {
      type: 'object',
      description: 'Further facts about an error of the catalog.',
      additionalProperties: { type: 'string' },
    },
    instance: { type: 'string', description: 'The id of the request; the same as in x-request-id.' },
  },
}

/** Errors about names in a request, by members of its body, parameters and placeholders of its path. */
const errorsByName: readonly (readonly [error: ErrorName, ...names: string[]])[] = [
  ['TableAlreadyExists', 'new_table_name'],
  ['TableBranchNotFound', 'branch', 'from_branch'],
  ['TableColumnNotFound', 'column', 'columns', 'filter', 'on', 'predicate'],
  ['TableIndexNotFound', 'index_name', 'maintained_indexes'],
  ['TableTagNotFound', 'tag', 'source_tag'],
  ['TableVersionNotFound', 'version', 'from_version', 'source_version'],
]

/** `members` are those of the body at any depth. */
export function errorsForOperation(operation: Operation, members: ReadonlySet<string>): readonly ErrorName[] {
  const { effect, group, path, query, errors, body } = operation
  const isNamed = (name: string): boolean =>
    members.has(name) || query.has(name) || path.includes(`{${name}}`)
  const names = new Set<ErrorName>([
    ...commonErrors,
    ...errorsOfObject(operation),
    ...errorsByName.filter(([, ...own]) => own.some(isNamed)).map(([error]) => error),
    ...errors,
  ])
  if (effect !== 'read') names.add('ConcurrentModification')
  if (group === 'write') names.add('InvalidTableState')
  if (group === 'schema') names.add('TableColumnNotFound')
  if (group === 'schema' || body === 'arrow') names.add('TableSchemaValidationError')
  return [...names].toSorted((one, other) => errorCodes[one].code - errorCodes[other].code)
}

/** An object that is missing, or only its namespace if the operation creates it, and one that exists. */
function errorsOfObject({ object, creates }: Operation): readonly ErrorName[] {
  if (object === 'none') return []
  if (object === 'transaction') return ['TransactionNotFound']
  if (object === 'namespace')
    return creates ? ['NamespaceNotFound', 'NamespaceAlreadyExists'] : ['NamespaceNotFound']
  return ['NamespaceNotFound', creates ? 'TableAlreadyExists' : 'TableNotFound']
}

export function describeErrors(
  errors: readonly ErrorName[],
  components: Map<string, object>,
): Record<string, JsonSchema> {
  const statuses = [...new Set(errors.map((name) => errorCodes[name].status))]
  const responses = statuses.map((status) => {
    const names = errors.filter((name) => errorCodes[name].status === status)
    const key = names.join('.')
    components.set(key, describeErrorResponse(names))
    return [String(status), { $ref: `#/components/responses/${key}` }] as const
  })
  components.set('Error', describeErrorResponse([]))
  return Object.fromEntries([...responses, ['default', { $ref: '#/components/responses/Error' }]])
}

function describeErrorResponse(names: readonly ErrorName[]): object {
  const mayRetry = names.some((name) => name === 'Throttling' || name === 'ServiceUnavailable')
  const named = names.map((name) => `${name} (${errorCodes[name].code})`).join(', ')
  return {
    description: named === '' ? 'Any other error, of the catalog or of a proxy in front of it.' : named,
    headers: {
      [requestIdHeader]: { description: 'The id of the request.', schema: { type: 'string' } },
      [policyRevisionHeader]: {
        description: 'The revision of the policies that decided the request, if policies were evaluated.',
        schema: { type: 'string' },
      },
      ...(mayRetry && {
        'retry-after': {
          description: 'The number of seconds after which the request may succeed, if known.',
          schema: { type: 'integer', format: 'int32', minimum: 0 },
        },
      }),
    },
    content: { 'application/json': { schema: schemaReference('ErrorResponse') } },
    'x-codes': names.map((name) => errorCodes[name].code),
  }
}
