import { describeFactSource, type FactName, type FactSource } from './facts.ts'
import { refusal } from './catalog-error.ts'
import { getOperation, operationNames, type Operation } from './operations.ts'
import { apiKeyHeader, factHeaders, lancedbDatabaseHeader, lancedbPrefixHeader } from './headers.ts'
import { collectMemberNames, findSchemas } from './schemas.ts'

type RequestPart = Exclude<FactSource['in'], 'properties'>

const factsByName = new Map<string, FactName>()
for (const operationName of operationNames) {
  for (const [fact, sources] of getOperation(operationName).facts) {
    // The name of a branch, and in other operations of an index.
    for (const { name } of sources) if (name !== 'name') factsByName.set(name, fact)
  }
}

const entryMembers = operationNames.flatMap((name) => {
  const { entries } = getOperation(name)
  if (entries === undefined) return []
  return [entries.member, ...(typeof entries.operation === 'string' ? [] : Object.keys(entries.operation))]
})

/** Names of members, parameters and headers that can affect a decision. */
const decisive = [
  'id',
  'index_name',
  'job_id',
  'identity',
  'context',
  'query',
  'delimiter',
  apiKeyHeader,
  ...factsByName.keys(),
  ...entryMembers,
  ...Object.values(factHeaders),
]

/**
 * Throws InvalidInput (400) if a name states a fact in some operation, but not in this part of this one: the policies
 * would not see it there, and the upstream might act on it.
 */
export function assertFactSource(operation: Operation, part: RequestPart, name: string): void {
  const fact = factsByName.get(name)
  if (fact === undefined || findFact(operation, part, name) !== undefined) return
  const [source] = operation.facts.find(([other]) => other === fact)?.[1] ?? []
  const remedy = source === undefined ? 'omit it' : `send it as ${describeFactSource(source)}`
  const sent = describeFactSource({ in: part, name }).replace(/^the /, '')
  throw refusal('misplaced_parameter', `${operation.name} does not accept ${sent}; ${remedy}`)
}

/** Returns the fact that a name in this part of a request states in the operation, if any. */
export function findFact({ facts }: Operation, part: RequestPart, name: string): FactName | undefined {
  return facts.find(([, sources]) =>
    sources.some((source) => source.in === part && source.name === name),
  )?.[0]
}

/** As in `external_blob_mode`, `allow_external_blob_outside_bases`, `initial_bases` and `target_bases` of Lance. */
const switchName = /externalblob|^(?:.*[^a-z])?(?:(?:initial|target)?bases|basepaths)$/

/**
 * Whether an option of this name would let values refer to further objects, or a table to further folders: the catalog
 * reads them with its own credential. `name` is folded (`foldName`).
 */
export function isReferenceSwitch(name: string): boolean {
  return switchName.test(name)
}

/** Names of credentials, of callers, and of other places of an object, as other servers call them. */
const sensitiveName =
  /token|secret|passw|credential|authoriz|apikey|accesskey|signature|assertion|bearer|cookie|^(?:auth|jwt|key|sig|user|username|userid|principal|impersonate|xcatalog.*|xlance.*|xamz.*|xgoog.*|database|url|uri|path)$/
/** Names of query parameters by which other servers replace the method or the target of a request. */
const requestPartName = /^(?:method|httpmethod|methodoverride|xhttp.*|target)$/

const ignoredCharacters = /[-_\s\p{C}\p{Default_Ignorable_Code_Point}]/gu

let reservedNames: ReadonlySet<string> | undefined

/**
 * Returns whether a query parameter or member of this name could mean something to a catalog that the gateway decides
 * on: its name equals, as `foldName` folds it, a parameter, a member, a fact or a mode of any operation, or a credential.
 */
export function isReservedName(name: string): boolean {
  reservedNames ??= collectReservedNames()
  const folded = foldName(name)
  return reservedNames.has(folded) || isSensitive(folded) || requestPartName.test(folded)
}

/**
 * Returns whether the name is that of a query parameter which states an object or a fact in some operation, of a
 * credential, or of a part of the request, as `foldName` folds it.
 */
export function isDecisiveParameter(name: string): boolean {
  return isDecisiveName(name) || requestPartName.test(foldName(name))
}

/** The same for a member of a body, which replaces no part of the request. */
export function isDecisiveName(name: string): boolean {
  const folded = foldName(name)
  return decisiveNames.has(folded) || isSensitive(folded)
}

function isSensitive(folded: string): boolean {
  return sensitiveName.test(folded) || isReferenceSwitch(folded)
}

const decisiveNames: ReadonlySet<string> = new Set(decisive.map(foldName))

/**
 * Normalizes a name as the most lenient reader does: without case, dashes, underscores, white space and invisible
 * characters, and only up to a NUL.
 */
export function foldName(name: string): string {
  // Upper case first: the long s becomes s, as it does for readers that fold by Unicode.
  const folded = name.toUpperCase().toLowerCase()
  const end = folded.indexOf('\0')
  return (end === -1 ? folded : folded.slice(0, end)).replaceAll(ignoredCharacters, '')
}

function collectReservedNames(): ReadonlySet<string> {
  const names = [...decisive, lancedbDatabaseHeader, lancedbPrefixHeader]
  for (const operationName of operationNames) {
    const { query, droppedQuery, facts, recorded, emptyIsAbsent, modes, behaviors } =
      getOperation(operationName)
    names.push(...query.keys(), ...droppedQuery, ...recorded, ...emptyIsAbsent, ...modes, ...behaviors)
    for (const [fact, sources] of facts) names.push(fact, ...sources.map((source) => source.name))
    names.push(...collectMemberNames(findSchemas(operationName)?.request))
  }
  return new Set(names.map(foldName))
}
