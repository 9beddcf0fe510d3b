import { expect, inject, it } from 'vitest'
import { getRequestForm } from '../../../src/catalog-api/body-forms.ts'
import {
  apiKeyHeader,
  lancedbCredentialTypeHeader,
  lancedbDatabaseHeader,
  lancedbPrefixHeader,
  limitLancedbServerVersion,
  requestIdHeader,
} from '../../../src/catalog-api/headers.ts'
import { getOperation, operationNames, type Operation } from '../../../src/catalog-api/operations.ts'
import { builtInRoutes, findRoute } from '../../../src/catalog-api/route-table.ts'
import {
  allowedRequestHeaders,
  allowedResponseHeaders,
} from '../../../src/config/upstream/allowed-headers-settings.ts'
import type { JsonForm } from '../../../src/lib/json/json-form.ts'
import { fetchLancedbSources, readRequests, type SentBy } from './lancedb-sources.ts'
import { refusedRequests, type RequestPart } from './refused-requests.ts'

const headers: ReadonlySet<string> = new Set([
  ...allowedRequestHeaders,
  ...allowedResponseHeaders,
  apiKeyHeader,
  requestIdHeader,
  lancedbCredentialTypeHeader,
  lancedbDatabaseHeader,
  lancedbPrefixHeader,
])
const all = operationNames.map(getOperation)

/** Lists sent parts that are neither served nor named as refused, and needless refusals: one line for each. */
function findUnserved(sent: readonly SentBy[], refused: typeof refusedRequests): readonly string[] {
  const used = new Set<string>()
  const lines = sent.flatMap(({ where, ...parts }) => {
    const operations = parts.routes.map(findOperation)
    // The members of a refused request are refused with it.
    const isRefused = operations.length > 0 && operations.every((operation) => operation === undefined)
    const scope = operations.filter((operation) => operation !== undefined)
    const possible = scope.length > 0 ? scope : all
    const served: Readonly<Record<RequestPart, (name: string) => boolean>> = {
      routes: (route) => findOperation(route) !== undefined,
      members: (name) => isRefused || possible.some((operation) => collectNames(operation).has(name)),
      parameters: (name) => isRefused || possible.some(({ query }) => query.has(name)),
      headers: (name) => headers.has(name),
      features: isAnnounced,
    }
    return kinds.flatMap((kind) =>
      [...new Set(parts[kind])].flatMap((name) => {
        used.add(`${kind} ${name}`)
        return served[kind](name) || name in refused[kind] ? [] : [`- ${kind}: ${name}, sent by ${where}`]
      }),
    )
  })
  const needless = kinds.flatMap((kind) =>
    Object.keys(refused[kind]).flatMap((name) => {
      if (isServed(kind, name)) return [`- ${kind}: ${name} is refused by name, but served`]
      return used.has(`${kind} ${name}`) ? [] : [`- ${kind}: ${name} is refused by name, but not sent`]
    }),
  )
  return [...lines, ...needless]
}

const kinds = [
  'routes',
  'members',
  'parameters',
  'headers',
  'features',
] as const satisfies readonly RequestPart[]

function isServed(kind: RequestPart, name: string): boolean {
  if (kind === 'routes') return findOperation(name) !== undefined
  if (kind === 'headers') return headers.has(name)
  if (kind === 'features') return isAnnounced(name)
  return all.some((operation) =>
    kind === 'members' ? collectNames(operation).has(name) : operation.query.has(name),
  )
}

function findOperation(route: string): Operation | undefined {
  return findRoute(builtInRoutes, route.replaceAll('{}', 'x'))?.operation
}

/** Whether the gateway announces the version of the server from which the client does it. */
function isAnnounced(feature: string): boolean {
  const version = feature.split(' ')[1] ?? ''
  return limitLancedbServerVersion(version) === version
}

/** The names of all members of the body, at any depth. */
function collectNames(operation: Operation): ReadonlySet<string> {
  const names = new Set<string>()
  const visited = new Set<JsonForm>()
  const visit = (form: JsonForm | undefined): void => {
    if (form === undefined || visited.has(form)) return
    visited.add(form)
    for (const [name, member] of form.members) {
      names.add(name)
      visit(member)
    }
    visit(form.items)
    visit(form.others)
  }
  visit(getRequestForm(operation))
  return names
}

// A new version of the client may send what the operations table does not have, which the gateway refuses. This fails
// when one is published, with lines for an issue: add to the table, or to refused-requests.ts with the reason.
it('the newest client of LanceDB sends nothing that is neither served nor refused by name', async ({
  skip,
}) => {
  skip(!inject('installedClients').includes('lancedb-sources'), 'the sources of lancedb are not available')
  const sources = await fetchLancedbSources()
  const requests = await readRequests(sources)
  const count = (kind: RequestPart) => new Set(requests.flatMap((part) => part[kind])).size
  // Sources that are written in another way must not pass unread.
  expect(count('routes')).toBeGreaterThan(70)
  expect(count('members')).toBeGreaterThan(70)
  expect(count('parameters')).toBeGreaterThan(8)
  expect(count('headers')).toBeGreaterThan(8)
  expect(count('features')).toBeGreaterThan(4)
  const lines = findUnserved(requests, refusedRequests)
  const report = `lancedb ${sources.version} and the operations table differ:\n\n${lines.join('\n')}\n\n`
  expect(lines, report).toEqual([])
})

const nothing: SentBy = {
  where: 'table.rs: f',
  routes: [],
  members: [],
  parameters: [],
  headers: [],
  features: [],
}
const none = { routes: {}, members: {}, parameters: {}, headers: {}, features: {} }

it.each<readonly [string, Partial<SentBy>, string]>([
  ['a route', { routes: ['/v1/table/{}/x'] }, '- routes: /v1/table/{}/x, sent by table.rs: f'],
  ['a member', { members: ['unheard_of'] }, '- members: unheard_of, sent by table.rs: f'],
  [
    'a member of another operation',
    { routes: ['/v1/table/{}/query'], members: ['new_columns'] },
    '- members: new_columns, sent by table.rs: f',
  ],
  [
    'a parameter of another operation',
    { routes: ['/v1/table/{}/insert'], parameters: ['distributed_metrics'] },
    '- parameters: distributed_metrics, sent by table.rs: f',
  ],
  ['a header', { headers: ['x-other'] }, '- headers: x-other, sent by table.rs: f'],
  ['a version', { features: ['new 0.7.0'] }, '- features: new 0.7.0, sent by table.rs: f'],
])('reports %s that is not served', (_what, sent, line) => {
  expect(findUnserved([{ ...nothing, ...sent }], none)).toEqual([line])
})

it('reports what is refused by name although it is served, or not sent', () => {
  const routes = { '/v1/table/{}/query': 'a mistake', '/v1/table/{}/x': 'no longer sent' }
  expect(findUnserved([nothing], { ...none, routes })).toEqual([
    '- routes: /v1/table/{}/query is refused by name, but served',
    '- routes: /v1/table/{}/x is refused by name, but not sent',
  ])
})

it('accepts what is served, and the members of a refused request', () => {
  const sent = [
    { ...nothing, routes: ['/v1/table/{}/query'], members: ['k', 'use_rte'], headers: ['x-api-key'] },
    { ...nothing, routes: ['/v1/table/{}/x'], members: ['unheard_of'], features: ['old 0.3.0'] },
  ]
  expect(findUnserved(sent, { ...none, routes: { '/v1/table/{}/x': 'no table' } })).toEqual([])
})
