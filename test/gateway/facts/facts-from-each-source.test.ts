import { expect, it } from 'vitest'
import type { FactName, FactSourcePath } from '../../../src/catalog-api/facts.ts'
import { arrowStreamType } from '../../../src/catalog-api/headers.ts'
import { getOperation, operationNames, type OperationName } from '../../../src/catalog-api/operations.ts'
import { factsOf } from '../../catalog-api/facts-of-operation.ts'
import type { WrittenRule } from '../../policy/policy-builder.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { useSharedGateway } from '../support/running-gateway.ts'
import { createMinimalRequest } from '../support/minimal-request.ts'
import { getHeaderValues, type ReceivedRequest } from '../support/recording-upstream.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

// For every operation, every fact of it, and every location of that fact: a caller whose rule
// depends on the fact.

/** A fact with a rule on it, a value that the rule allows, and one that it denies. */
interface Condition {
  readonly when: string
  readonly right: unknown
  readonly wrong: unknown
}

const conditions: { readonly [Name in FactName]?: Condition } = {
  branch: { when: 'branch == "ci/7"', right: 'ci/7', wrong: 'ci/8' },
  tag: { when: 'tag == "pub"', right: 'pub', wrong: 'priv' },
  mode: {
    when: 'mode in ["existok", "skip", "append"] || operation == "RegisterTable" && mode == "create"',
    right: 'ExistOk',
    wrong: 'Create',
  },
  behavior: { when: 'behavior == "restrict"', right: 'Restrict', wrong: 'Cascade' },
  location: { when: 'location.isUnder("lake/sales")', right: 'lake/sales/t', wrong: 'lake/sales2/t' },
  manifestPath: {
    when: 'manifestPath.isUnder("lake/sales")',
    right: 'lake/sales/t/_versions/s',
    wrong: 'lake/s/_versions/s',
  },
  properties: { when: 'properties["env"] == "dev"', right: { env: 'dev' }, wrong: { env: 'prod' } },
  metadata: { when: 'metadata["ticket"] == "T"', right: { ticket: 'T' }, wrong: { ticket: 'U' } },
  newNamespace: { when: 'destination == ["archive", "archive"]', right: ['archive'], wrong: ['sales'] },
  newName: { when: 'destination == ["sales", "kept"]', right: 'kept', wrong: 'lost' },
}

const modes: { readonly [Name in OperationName]?: readonly [right: string, wrong: string] } = {
  DropNamespace: ['Skip', 'Fail'],
  RegisterTable: ['Create', 'Overwrite'],
  InsertIntoTable: ['Append', 'Overwrite'],
}

/** Facts that require a permission of their own, which the caller `limited` lacks. */
const asking: { readonly [Name in FactName]?: unknown } = {
  sourceBranch: 'release',
  storageOptions: { endpoint: 'https://elsewhere.example' },
  vendCredentials: true,
  deletesUnmatched: true,
}

/** Facts without which the interface allows no request. */
const required: ReadonlySet<FactName> = new Set(['manifestPath', 'newName'])

const effects = ['OverwriteTable', 'ChooseLocation', 'ChooseStorage', 'VendCredentials']
const names = Object.keys(conditions) as FactName[]
const allow = (
  id: string,
  user: string,
  operations: readonly string[],
  more: Partial<WrittenRule> = {},
): WrittenRule => ({
  id,
  effect: 'allow',
  subjects: { users: [user] },
  operations,
  ...more,
})

const shared = useSharedGateway({
  users: [...names, 'limited'],
  policies: [
    allowEverything,
    {
      name: 'sales',
      namespace: ['sales'],
      onDeny: 403,
      rules: [
        ...names.flatMap((name) => [
          allow(`${name}-decides`, name, ['all'], { when: conditions[name]?.when ?? '' }),
          allow(`${name}-effects`, name, effects),
          // Permissions that are required in addition, on objects of no other request of this caller.
          allow(`${name}-copies`, name, ['QueryTable'], { tables: ['forked'] }),
        ]),
        allow('destination', 'newName', ['CreateTable'], { tables: ['kept', 'lost'] }),
        allow('limited-does-all', 'limited', ['all'], {
          when: `!(operation in ["ChooseStorage", "VendCredentials", "DeleteFromTable"]) &&
            (operation != "QueryTable" || branch == "main")`,
        }),
      ],
    },
    {
      name: 'archive',
      namespace: ['archive'],
      rules: [allow('destination', 'newNamespace', ['CreateTable'])],
    },
  ],
})

function valuesOf(name: OperationName, fact: FactName): readonly [right: unknown, wrong: unknown] {
  const { right, wrong } = conditions[fact] ?? { right: asking[fact], wrong: undefined }
  return fact === 'mode' ? (modes[name] ?? [right, wrong]) : [right, wrong]
}

interface Case {
  readonly what: string
  readonly as: string
  readonly request: StatedRequest
  readonly status: 200 | 400 | 403
  /** The expected value, and its locations. */
  readonly arrives?: Readonly<{ value: unknown; locations: readonly FactSourcePath[] }>
}

/** All non-empty sets of locations. */
function subsets(locations: readonly FactSourcePath[]): FactSourcePath[][] {
  return locations.reduce<FactSourcePath[][]>(
    (sets, location) => [...sets, ...sets.map((set) => [...set, location]), [location]],
    [],
  )
}

/** What a request must state in addition, so that the fact alone decides. */
function besides(name: OperationName, fact: FactName): Statement[] {
  return name === 'RenameTable' && fact === 'newNamespace'
    ? [{ location: 'body.new_table_name', value: 'archive' }]
    : []
}

function request(name: OperationName, statements: readonly Statement[]): StatedRequest {
  return createStatingRequest(name, statements, name === 'CreateTableBranch' ? 'forked' : 'orders')
}

function casesOf(name: OperationName, fact: FactName, locations: readonly FactSourcePath[]): Case[] {
  const [right, wrong] = valuesOf(name, fact)
  const say = (value: unknown, at: readonly FactSourcePath[]): Statement[] => [
    ...besides(name, fact),
    ...at.map((location) => ({ location, value })),
  ]
  const asks = fact in asking
  const as = asks ? 'limited' : fact
  const isUnknown = fact === 'branch' && getOperation(name).unknownBranch === 'always'
  const cases = subsets(locations).flatMap((at): Case[] => {
    const stating = request(name, say(right, at))
    const arrives = { value: right, locations: locationsOf(stating, fact, at, locations) }
    if (asks) {
      return [
        { what: `${at.join()} asks`, as, request: stating, status: 403 },
        { what: `${at.join()} for dev`, as: 'dev', request: stating, status: 200, arrives },
      ]
    }
    const allowed = isUnknown ? { status: 403 as const } : { status: 200 as const, arrives }
    return [
      { what: `${at.join()} is right`, as, request: stating, ...allowed },
      { what: `${at.join()} is wrong`, as, request: request(name, say(wrong, at)), status: 403 },
    ]
  })
  cases.push(unstated(name, fact, as, asks))
  for (const one of asks ? [] : locations) {
    for (const other of locations.filter((location) => location !== one)) {
      const statements = [...say(right, [one]), { location: other, value: wrong }]
      cases.push({
        what: `${one} against ${other}`,
        as: 'dev',
        request: request(name, statements),
        status: 400,
      })
      if (other.startsWith('body.') && fact !== 'location') {
        const withNull = [...say(right, [one]), { location: other, value: null }]
        cases.push({ what: `${other} is null`, as: 'dev', request: request(name, withNull), status: 400 })
      }
    }
  }
  return cases
}

function unstated(name: OperationName, fact: FactName, as: string, asks: boolean): Case {
  const { members, ...rest } = request(name, besides(name, fact))
  const left = Object.entries(members ?? {}).filter(
    ([member]) => !(required.has(fact) && factsOf(name)[fact]?.includes(`body.${member}`)),
  )
  return {
    what: 'nothing',
    as,
    request: { ...rest, members: members && Object.fromEntries(left) },
    status: asks ? 200 : required.has(fact) ? 400 : 403,
  }
}

/** All locations of the request get the fact. */
function locationsOf(
  { members }: StatedRequest,
  fact: FactName,
  stated: readonly FactSourcePath[],
  locations: readonly FactSourcePath[],
): readonly FactSourcePath[] {
  if (fact === 'location') return stated
  return locations.filter((location) => {
    if (location.startsWith('body.query.')) return members !== undefined && 'query' in members
    // The members of a bare map are data.
    if (location.startsWith('body.')) return members !== undefined && !('owner' in members)
    return true
  })
}

async function errorOf({ what, as, request, status, arrives }: Case): Promise<string | undefined> {
  const { method, target, headers, members } = request
  const body = members ?? (method === 'GET' ? undefined : arrowUpload)
  const response = await shared.gateway.send(method, target, {
    as,
    headers,
    ...(body !== undefined && { body }),
  })
  const arrivals = shared.upstream.requests.splice(0)
  const [arrival] = arrivals
  const found = `${what} for ${as}: ${response.status} ${String(response.bytes).slice(0, 200)}`
  if (response.status !== status || arrivals.length !== (status === 200 ? 1 : 0)) return found
  if (arrival === undefined || arrives === undefined) return undefined
  for (const location of arrives.locations) {
    const there = await readStatedValue(arrival, location)
    if (there !== toText(arrives.value)) return `${what}: ${location} arrived as ${there}`
  }
  return undefined
}

/** The branch of a multipart write is also in its id: attacks/upstream/a-multipart-write-of-another-caller covers that. */
const withFacts = operationNames.filter(
  (name) => Object.keys(factsOf(name)).length > 0 && getOperation(name).multipart !== 'names',
)

it.each(withFacts)('reads the facts of %s from all their locations', async (name) => {
  const facts = Object.entries(factsOf(name)) as [FactName, readonly FactSourcePath[]][]
  const cases = facts.flatMap(([fact, locations]) => casesOf(name, fact, locations))
  const errors: string[] = []
  for (const one of cases) errors.push(...[await errorOf(one)].filter((error) => error !== undefined))
  expect(cases.length).toBeGreaterThan(2)
  expect(errors).toEqual([])
})

it('tests every fact', () => {
  const documented = withFacts.flatMap((name) => Object.keys(factsOf(name)))
  expect([...new Set(documented)].toSorted()).toEqual([...names, ...Object.keys(asking)].toSorted())
})

interface Statement {
  readonly location: FactSourcePath
  readonly value: unknown
}

interface StatedRequest {
  readonly method: 'GET' | 'POST'
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  /** Undefined for an operation without a JSON body. */
  readonly members: Readonly<Record<string, unknown>> | undefined
}

/** Creates the minimal request of an operation with these statements, on the table `sales$orders` by default. */
function createStatingRequest(
  name: OperationName,
  statements: readonly Statement[],
  table = 'orders',
): StatedRequest {
  const { method, path, members: least, query } = createMinimalRequest(name)
  const { location: _dropped, ...members } = { ...least } as Record<string, unknown>
  const body: Record<string, unknown> = members
  const parameters = new URLSearchParams(query)
  const headers: Record<string, string> = {}
  for (const { location, value } of statements) {
    const [part, key] = split(location)
    if (part === 'query') parameters.append(key, toText(value))
    else if (part === 'header') headers[`x-catalog-table-${key}`] = toText(value)
    else if (part === 'body') body[key] = value
    else if (part === 'body.query') body['query'] = { ...(body['query'] as object), [key]: value }
    else if (least === undefined) parameters.set('properties', JSON.stringify({ [key]: value }))
    else body['properties'] = { [key]: value }
  }
  const search = parameters.toString()
  return {
    method,
    target: path.replace('orders', table) + (search && `?${search}`),
    headers: { 'content-type': least === undefined ? arrowStreamType : 'application/json', ...headers },
    members: least === undefined ? undefined : body,
  }
}

/** The text that arrived in a location; undefined for nothing. */
async function readStatedValue(
  arrival: ReceivedRequest,
  location: FactSourcePath,
): Promise<string | undefined> {
  const [part, key] = split(location)
  const parameters = new URL(arrival.target, 'http://upstream').searchParams
  if (part === 'query') return parameters.get(key) ?? undefined
  if (part === 'header') return getHeaderValues(arrival, `x-catalog-table-${key}`)[0]
  const text = String(await arrival.body)
  const body = text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {}
  if (part === 'body') return toText(body[key])
  if (part === 'body.query') return toText((body['query'] as Record<string, unknown> | undefined)?.[key])
  const properties = parameters.get('properties') ?? JSON.stringify(body['properties'] ?? {})
  return toText((JSON.parse(properties) as Record<string, unknown>)[key])
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function split(location: FactSourcePath): readonly [part: string, key: string] {
  const dot = location.lastIndexOf('.')
  return [location.slice(0, dot), location.slice(dot + 1)]
}
