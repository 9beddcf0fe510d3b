import { expect, it } from 'vitest'
import type { FactName, FactSourcePath } from '../../../src/catalog-api/facts.ts'
import { getOperation, operationNames, type OperationName } from '../../../src/catalog-api/operations.ts'
import {
  documentedEntries,
  documentedFacts,
  type DocumentedFacts,
} from '../../catalog-api/documented-facts.ts'
import { everyInTheLongForm } from '../../support/thorough.ts'
import { createAcceptedQuery, createMinimalRequest } from '../support/minimal-request.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'
import { createStatingRequest } from '../support/stated-request.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

// For every operation, every name that states a fact somewhere, in every location that is not one of the operation
// according to the interface document.
const shared = useSharedGateway()

/** A name that states a fact in some operation. */
interface Decisive {
  readonly name: string
  readonly fact: FactName
  readonly value: unknown
}

const values: Readonly<Record<string, unknown>> = {
  branch: 'ci/7',
  from_branch: 'ci/7',
  tag: 'pub',
  mode: 'Append',
  behavior: 'Restrict',
  location: 'lake/sales/t',
  manifest_path: 'lake/sales/t/_versions/s',
  metadata: { ticket: 'T' },
  properties: { env: 'dev' },
  storage_options: { endpoint: 'https://elsewhere.example' },
  vend_credentials: true,
  when_not_matched_by_source_delete: true,
  new_namespace_id: ['archive'],
  new_namespace: ['archive'],
  new_table_name: 'archive',
}

const allLocations = operationNames.flatMap((name) =>
  Object.entries(documentedFacts[name]).flatMap(([fact, locations]) =>
    locations.map((location) => ({ fact: fact as FactName, name: nameIn(location) })),
  ),
)
/** The name of an index is not a fact. */
const decisive: readonly Decisive[] = [
  ...new Map(allLocations.map((location) => [location.name, location])).values(),
]
  .filter(({ name }) => name !== 'name')
  .map(({ name, fact }) => ({ name, fact, value: values[name] }))

interface Case {
  readonly what: string
  readonly target: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | undefined
  readonly says: string | RegExp
}

const withJson = operationNames.filter((name) => createMinimalRequest(name).members !== undefined)
const inWords: Readonly<Record<string, (name: string) => string>> = {
  query: (name) => `query parameter "${name}"`,
  header: (name) => `header "x-catalog-table-${name}"`,
  body: (name) => `member "${name}" of the body`,
  'body.query': (name) => `member "query.${name}" of the body`,
  properties: (name) => `"${name}" among the properties`,
}

function nameIn(location: string): string {
  return location.slice(location.lastIndexOf('.') + 1)
}

function locationInWords(location: string): string {
  return inWords[location.slice(0, location.lastIndexOf('.'))]?.(nameIn(location)) ?? ''
}

/** Operations with an object `query` in the body. */
const withQuery: ReadonlySet<OperationName> = new Set(['ExplainTableQueryPlan', 'AnalyzeTableQueryPlan'])

/** The expected message for a location that is not one of an operation. */
function refusal(operation: OperationName, { fact }: Decisive, location: string): string | RegExp {
  if (location.startsWith('body.query.') && !withQuery.has(operation))
    return /has no member "(\w+\.)*query"|"query" in the body is (not a string|an object)/
  const [belongs] = documentedFacts[operation][fact] ?? []
  const where =
    belongs?.startsWith('properties.') === true
      ? locationInWords(belongs)
      : `the ${locationInWords(belongs ?? '')}`
  return `${operation} does not accept ${locationInWords(location)}; ${belongs === undefined ? 'omit it' : `send it as ${where}`}`
}

/** A JSON text that may repeat names. */
function objectOf(members: readonly (readonly [name: string, value: unknown])[]): string {
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`
}

function has(facts: DocumentedFacts, location: string): boolean {
  return Object.values(facts).some((locations) => locations.includes(location as FactSourcePath))
}

function withText(operation: OperationName, what: string, says: Case['says'], text: string): Case {
  const { method, target, headers } = createStatingRequest(operation, [])
  return { what, method, target, headers, body: text, says }
}

/** The members of the minimal body, in an envelope if a bare map would be data. */
function leastMembers(operation: OperationName): readonly (readonly [string, unknown])[] {
  const isMap = operation === 'UpdateTableSchemaMetadata'
  const { members } = createStatingRequest(operation, isMap ? [{ place: 'body.version', value: 1 }] : [])
  return Object.entries(members ?? {}).filter(([name]) => name !== 'version')
}

/** Each name in the query, a header, the body, and its object `query`, if it is not a location there. */
function misplaced(operation: OperationName): Case[] {
  const { body } = bodyOf(operation)
  const cases: Case[] = []
  for (const one of decisive) {
    const locations = [
      `query.${one.name}`,
      ...(body === undefined ? [] : [`body.${one.name}`, `body.query.${one.name}`]),
    ]
    const headers = one.name === 'location' || one.name === 'properties' ? [`header.${one.name}`] : []
    for (const location of [...locations, ...headers].filter(
      (location) => !has(documentedFacts[operation], location),
    )) {
      const isData = operation === 'UpdateTableSchemaMetadata' && location === 'body.metadata'
      if (!isData) cases.push(misplacedAt(operation, one, location as FactSourcePath))
    }
  }
  return cases
}

function misplacedAt(operation: OperationName, one: Decisive, location: FactSourcePath): Case {
  const { method, target, headers, members } = createStatingRequest(operation, [
    { place: location, value: one.value },
  ])
  const body = members === undefined ? bodyOf(operation).arrow : JSON.stringify(members)
  return { what: location, method, target, headers, body, says: refusal(operation, one, location) }
}

function bodyOf(operation: OperationName): {
  readonly body: object | undefined
  readonly arrow: string | Buffer | undefined
} {
  const { method, members } = createMinimalRequest(operation)
  return { body: members, arrow: method === 'GET' ? undefined : arrowUpload }
}

/** Spellings that some readers take for the name. */
function spellingsOf(name: string): readonly string[] {
  const capital = `${name.charAt(0).toUpperCase()}${name.slice(1)}`
  const longS = name.replace('s', 'ſ')
  return [capital, name.toUpperCase(), `${name}\u0000`, `${name}\u0000x`, ...(longS === name ? [] : [longS])]
}

/** Each body member with a different spelling, or repeated. */
function twofold(operation: OperationName): Case[] {
  const least = leastMembers(operation)
  const inQuery = (members: readonly (readonly [string, unknown])[]): string =>
    objectOf(least).replace(/\}$/, `${least.length === 0 ? '' : ','}"query":${objectOf(members)}}`)
  const isMap = operation === 'UpdateTableSchemaMetadata'
  const inQuerySays = withQuery.has(operation)
    ? /is ambiguous; write|has no member|does not accept member|duplicate key/
    : /has no member "query"|"query" in the body is (not a string|an object)/
  return decisive.flatMap(({ name, value }) => [
    ...spellingsOf(name).flatMap((spelling) => {
      const says = isMember(operation, name)
        ? `is ambiguous; write "${name}"`
        : /has no member|is not a string|is ambiguous/
      const member = [spelling, value] as const
      return [
        withText(operation, spelling, says, objectOf([...least, member])),
        withText(operation, `${spelling} first`, says, objectOf([member, ...least])),
        withText(operation, `query.${spelling}`, inQuerySays, inQuery([member])),
      ]
    }),
    // Null states nothing, so there is no other reason for a refusal.
    withText(
      operation,
      `${name} twice`,
      isMember(operation, name)
        ? twice(name)
        : isMap
          ? /duplicate key|does not accept member/
          : /does not accept member|has no member/,
      objectOf([...least.filter(([other]) => other !== name), [name, null], [name, null]]),
    ),
    withText(
      operation,
      `query.${name} twice`,
      inQuerySays,
      inQuery([
        [name, null],
        [name, null],
      ]),
    ),
  ])
}

/** Whether the body may have the member, by the interface document. */
function isMember(operation: OperationName, name: string): boolean {
  return operation !== 'UpdateTableSchemaMetadata' && has(documentedFacts[operation], `body.${name}`)
}

function twice(name: string): string {
  return `duplicate key "${name}" in an object of the body`
}

/** Each name in the entries of a batch. */
function misplacedInEntries(operation: keyof typeof documentedEntries): Case[] {
  return Object.entries(documentedEntries[operation]).flatMap(([member, entry]) => {
    const least = {
      id: ['sales', 'orders'],
      ...(entry === 'CreateTableVersion' && { version: 2, manifest_path: 'sales/orders/_versions/s' }),
    }
    const batch = (value: object): string =>
      JSON.stringify(
        member === 'entries' ? { entries: [least, value] } : { operations: [{ [member]: value }] },
      )
    const facts = documentedFacts[entry]
    return decisive.flatMap((one) => {
      const { name, value } = one
      const out: readonly Case[] = has(facts, `body.${name}`)
        ? []
        : [
            withText(
              operation,
              `${member}.${name}`,
              /has no member "(entries|operations)\.|is not accepted|exactly one/,
              batch({ ...least, [name]: value }),
            ),
          ]
      const nested = batch({ ...least, query: { [name]: value } })
      return [
        ...out,
        withText(operation, `${member}.query.${name}`, refusal(entry, one, `body.query.${name}`), nested),
        ...spellingsOf(name).flatMap((spelling) => {
          const says = has(facts, `body.${name}`) ? `is ambiguous; write "${name}"` : /has no member/
          const inQuery = { ...least, query: { [spelling]: value } }
          return [
            withText(operation, `${member}.${spelling}`, says, batch({ ...least, [spelling]: value })),
            withText(operation, `${member}.query.${spelling}`, /has no member/, batch(inQuery)),
          ]
        }),
      ]
    })
  })
}

async function errorsOf(cases: readonly Case[]): Promise<string[]> {
  const errors: string[] = []
  for (const { what, method, target, headers, body, says } of cases) {
    const response = await shared.gateway.send(method, target, {
      headers,
      ...(body !== undefined && { body }),
    })
    const { error } = { error: String(response.bytes), ...(response.json as { error?: string } | undefined) }
    const isSaid = typeof says === 'string' ? error.includes(says) : says.test(error)
    const arrived = shared.upstream.requests.splice(0).length
    if (response.status !== 400 || arrived > 0 || !isSaid) {
      errors.push(`${what}: ${response.status} ${error}, ${arrived} arrived; expected ${String(says)}`)
    }
  }
  return errors
}

it.each(operationNames)('%s accepts facts in their locations only', async (operation) => {
  const cases = misplaced(operation)
  expect(cases.length).toBeGreaterThan(10)
  expect(await errorsOf(cases)).toEqual([])
})

it.each(withJson)('%s rejects differently spelled and repeated names', async (operation) => {
  expect(await errorsOf(everyInTheLongForm(twofold(operation), 13))).toEqual([])
})

it.each(Object.keys(documentedEntries) as (keyof typeof documentedEntries)[])(
  'the entries of %s reject facts that they do not have',
  async (operation) => {
    expect(await errorsOf(everyInTheLongForm(misplacedInEntries(operation), 3))).toEqual([])
  },
)

it.each(operationNames)('%s forwards headers without an effect', async (operation) => {
  const { method, target, headers, members } = createStatingRequest(operation, [])
  const query = await createAcceptedQuery(operation, shared)
  const body = (members && JSON.stringify(members)) ?? (method === 'GET' ? undefined : arrowUpload)
  shared.upstream.answering = respondWith(200, { namespaces: [], tables: [], views: [] })
  const response = await shared.gateway.send(method, target.replace(/(\?.*)?$/, query && `?${query}`), {
    headers: { ...headers, 'x-lancedb-min-version': '7' },
    ...(body !== undefined && { body }),
  })
  expect(response.status).toBe(200)
  const [arrival] = shared.upstream.requests
  expect(arrival?.rawHeaders).toContain('x-lancedb-min-version')
  // The gateway reads listings by GET.
  const isListing = getOperation(operation).lists !== undefined
  expect(await arrival?.body).toEqual(Buffer.from(isListing ? '' : (body ?? '')))
})
