import { decisiveMembers } from './decisive-members.ts'
import { apiKeyHeader, factHeaders, lancedbDatabaseHeader, lancedbPrefixHeader } from './headers.ts'
import { collectMemberNames, describeSchema, type JsonSchema } from './openapi/json-schemas.ts'
import { getOperation, operationNames } from './operations.ts'
import { operationSchemas } from './schemas/operation-schemas.ts'

/** Names of credentials, of callers, and of what replaces another part of the request, as other servers call them. */
const sensitiveName =
  /token|secret|passw|credential|authoriz|apikey|accesskey|signature|assertion|bearer|cookie|^(?:auth|jwt|key|sig|user|username|userid|principal|impersonate|method|httpmethod|methodoverride|xhttp.*|xcatalog.*|xlance.*|xamz.*|xgoog.*|database|url|uri|path|target)$/

let reservedNames: ReadonlySet<string> | undefined

/**
 * Returns whether a query parameter of this name could mean something to a catalog that the gateway decides on: its name
 * equals a parameter, member or fact of any operation or a credential, regardless of case, dashes and underscores.
 */
export function isReservedParameter(name: string): boolean {
  reservedNames ??= collectReservedNames()
  const folded = foldParameterName(name)
  return reservedNames.has(folded) || sensitiveName.test(folded)
}

/**
 * Returns whether the name of a query parameter is that of a member or parameter which states an object or a fact in
 * some operation, or of a credential, regardless of case, dashes and underscores.
 */
export function isDecisiveParameter(name: string): boolean {
  const folded = foldParameterName(name)
  return decisiveNames.has(folded) || sensitiveName.test(folded)
}

const decisiveNames: ReadonlySet<string> = new Set(
  [...decisiveMembers, 'delimiter', ...Object.values(factHeaders), apiKeyHeader].map(foldParameterName),
)

/** Normalizes a name as the most lenient reader does. */
export function foldParameterName(name: string): string {
  return name.toUpperCase().toLowerCase().replaceAll(/[-_]/g, '')
}

function collectReservedNames(): ReadonlySet<string> {
  const names = [
    ...decisiveMembers,
    ...Object.values(factHeaders),
    apiKeyHeader,
    lancedbDatabaseHeader,
    lancedbPrefixHeader,
  ]
  for (const operationName of operationNames) {
    const { query, droppedQuery, facts, recorded, emptyIsAbsent } = getOperation(operationName)
    names.push(...query.keys(), ...droppedQuery, ...recorded, ...emptyIsAbsent)
    for (const [fact, sources] of facts) names.push(fact, ...sources.map((source) => source.name))
  }
  const components = new Map<string, JsonSchema>()
  for (const { request } of Object.values(operationSchemas))
    names.push(...collectMemberNames(describeSchema(request, components), components))
  return new Set(names.map(foldParameterName))
}
