import { expect, inject, it } from 'vitest'
import { findUnserved } from './find-unserved.ts'
import { fetchLancedbSources, readRequests, type SentBy } from './lancedb-sources.ts'
import { refusedRequests } from './refused-requests.ts'

// A new version of the client may send what the operations table does not have, which the gateway refuses. This fails
// when one is published, with lines for an issue: add to the table, or to refused-requests.ts with the reason.
it('the newest client of LanceDB sends nothing that is neither served nor refused by name', async ({
  skip,
}) => {
  skip(!inject('installedClients').includes('lancedb-sources'), 'the sources of lancedb are not available')
  const sources = await fetchLancedbSources()
  const requests = await readRequests(sources)
  const count = (kind: 'routes' | 'members' | 'parameters' | 'headers' | 'features') =>
    new Set(requests.flatMap((part) => part[kind])).size
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
