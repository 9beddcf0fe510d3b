import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import {
  describeNameProblem,
  describePathProblem,
  foldName,
  getOperation,
  isDecisiveName,
  isDecisiveParameter,
  operationNames,
  quoteForMessage,
  unifies,
} from '../../catalog-api/index.ts'
import { refuse, type SettingProblem } from '../../settings/index.ts'

const parameterNameGrammar = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/** Operations on an object that an id names. */
const operationsOnObjects = operationNames.filter((name) => {
  const { object } = getOperation(name)
  return object === 'table' || object === 'namespace'
})

const operationFields = z.strictObject({
  name: z
    .string()
    .superRefine(refuse(describeNameProblem))
    .describe('Name in policies, audit records, metrics, the log and the OpenAPI document: PrewarmTable.'),
  method: z.enum(['GET', 'POST']).default('POST').describe('Method.'),
  path: z
    .string()
    .superRefine(refuse(describePathProblem))
    .describe(
      'Path at the upstream: /v1/table/{id}/file_cache/prewarm. A slash at its end is sent to the upstream.',
    ),
  effect: z
    .enum(['read', 'change'])
    .default('change')
    .describe('A change is recorded in the audit log, and never retried.'),
  group: z
    .enum(['browse', 'query', 'write', 'create', 'commit', 'admin', 'drop', 'credentials'])
    .optional()
    .describe(
      'Group of operations that allows it in policies; by default only its name does, not even `all`.',
    ),
  query: z
    .record(z.string(), z.enum(['string', 'strings', 'integer', 'boolean']))
    .default({})
    .describe(
      'Query parameters of the operation with their types; `strings` may be repeated. All others are refused.',
    ),
  idMembers: z
    .record(z.string(), z.enum(operationsOnObjects))
    .default({})
    .describe(
      'Members of the JSON body that hold the id of a further object, each with the operation that policies must allow on it: `target: CreateTable`.',
    ),
  members: z
    .array(z.string())
    .default([])
    .describe(
      'Further members of the JSON body, at its top, with any value that has no names of facts, ids or credentials in it. All others are refused.',
    ),
  body: z.enum(['none', 'json', 'arrow']).default('json').describe('Request body.'),
  response: z.enum(['json', 'arrow']).default('json').describe('Body of a successful response.'),
})

function* findContradictions({
  method,
  body,
  effect,
  group,
  query,
  idMembers,
  members,
}: z.output<typeof operationFields>): Generator<SettingProblem> {
  const named = [
    ...Object.keys(query).map((name) => ({ name, part: 'query', key: name })),
    ...Object.keys(idMembers).map((name) => ({ name, part: 'idMembers', key: name })),
    ...members.map((name, index) => ({ name, part: 'members', key: index })),
  ]
  for (const [index, { name, part, key }] of named.entries()) {
    const path = [part, key]
    const isMember = part !== 'query'
    const misnamed = describeName(name, isMember ? isDecisiveName : isDecisiveParameter)
    if (misnamed !== undefined) yield { path, message: misnamed }
    const other = named.slice(0, index).find((one) => foldName(one.name) === foldName(name))
    if (isMember && body !== 'json')
      yield { path, message: `expected no members in a body of the form ${body}` }
    else if (isMember && other !== undefined)
      yield {
        path,
        message: `some catalogs read ${name} as ${other.name}, which is declared, too; expected another name`,
      }
  }
  if (method === 'GET' && body !== 'none')
    yield { path: ['body'], message: 'expected none for the method GET' }
  if (effect !== 'read' && (group === 'browse' || group === 'query')) {
    const message = `the group ${group} holds reads only; expected effect: read, or another group`
    yield { path: ['group'], message }
  }
}

const extraOperationSchema = operationFields.superRefine(refuse(findContradictions))

/** Operations of an upstream that the catalog API does not have. */
export const extraOperationsSetting = z
  .array(extraOperationSchema)
  .default([])
  .describe(
    'Operations on tables that this upstream has besides those of the catalog API; see docs/upstreams.md.',
  )

type ExtraOperations = z.output<typeof extraOperationsSetting>

/**
 * Finds extra operations that conflict with another one, of any upstream: two with one name must be equal, and two with
 * different names need paths that no request matches both. `path` begins with the index of the upstream.
 */
export function findExtraOperationProblems(
  upstreams: readonly { readonly name: string; readonly extraOperations: ExtraOperations }[],
): readonly SettingProblem[] {
  const declared = upstreams.flatMap(({ name: upstream, extraOperations }, index) =>
    extraOperations.map((operation, position) => ({ operation, upstream, index, position })),
  )
  return declared.flatMap(({ operation, index, position }, at) =>
    declared.slice(0, at).flatMap((before): SettingProblem[] => {
      const path = [index, 'extraOperations', position]
      const { name } = before.operation
      const where = `of the upstream ${quoteForMessage(before.upstream)}`
      if (operation.name === name) {
        if (before.index === index) return [{ path: [...path, 'name'], message: `${name} is declared twice` }]
        if (isDeepStrictEqual(operation, before.operation)) return []
        const message = `${name} differs from ${name} ${where}; expected equal declarations, or another name`
        return [{ path: [...path, 'name'], message }]
      }
      if (!unifies(operation.path, before.operation.path)) return []
      const message = `a request for ${operation.path} could be one for ${name} ${where}; expected another path, or the name ${name}`
      return [{ path: [...path, 'path'], message }]
    }),
  )
}

function describeName(name: string, isDecisive: (name: string) => boolean): string | undefined {
  if (!parameterNameGrammar.test(name)) return 'expected a letter, then up to 63 letters, digits, "-" and "_"'
  return isDecisive(name)
    ? 'the name is that of a fact, an id or a credential, which the gateway must check; expected another one'
    : undefined
}
