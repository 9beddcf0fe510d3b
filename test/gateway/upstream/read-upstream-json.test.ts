import { expect, it, onTestFinished } from 'vitest'
import { Agent } from 'undici'
import { createResettingConnector } from '../../support/resetting-connector.ts'
import { directOpener } from '../../support/direct-opener.ts'
import type { DownstreamResponse } from '../../../src/gateway/downstream.ts'
import { ClientDisconnected } from '../../../src/gateway/downstream.ts'
import type { UpstreamBounds } from '../../../src/gateway/bounds.ts'
import { readUpstreamJson } from '../../../src/gateway/upstream/call-upstream.ts'
import { upstreamSchema } from '../../../src/config/upstream/upstream-settings.ts'
import { createUpstream, type Upstream } from '../../../src/gateway/upstream/upstream.ts'
import { parseTarget } from '../../../src/catalog-api/request-target.ts'
import { respondWith, startRecordingUpstream, getHeaderValues } from '../support/recording-upstream.ts'
import { createDeferred } from '../support/waiting.ts'
import { fixed } from '../../../src/lib/fs/follow-files.ts'
import { runServer } from '../../http1/server/running-server.ts'
import { eventually } from '../../support/eventually.ts'

const target = parseTarget('GET', '/v1/namespace/$/list?limit=2&page_token=n')

async function catalog(bounds: Partial<UpstreamBounds> = {}) {
  const recording = await startRecordingUpstream()
  onTestFinished(() => recording.close())
  const upstream = createUpstream({
    ...upstreamSchema.parse({ url: `${recording.url}/base`, delimiter: '.' }),
    bounds,
    opener: directOpener,
    credentials: fixed(['x-api-key', 'of-the-gateway']),
  })
  onTestFinished(() => upstream.close())
  return { recording, upstream }
}

/** Reads for a client that can disconnect. */
async function reading(upstream: Upstream) {
  const answering = createDeferred<DownstreamResponse>()
  const { url } = await runServer((_request, response) => answering.resolve(response))
  const leave = new AbortController()
  const client = new Agent({ connect: createResettingConnector() })
  client.request({ origin: url, path: '/', method: 'GET', signal: leave.signal }).catch(() => undefined)
  const response = await answering.promise
  const listing = readUpstreamJson(upstream, target, ['x-request-id', 'r-1'], {
    holder: 'dev',
    response,
    spans: undefined,
  })
  return { listing, leave, response }
}

it('reads a listing with the credentials of the gateway and the id of the request', async () => {
  const { recording, upstream } = await catalog()
  recording.answering = respondWith(200, { namespaces: ['a', 'b'], page_token: 'b' })
  const { listing, response } = await reading(upstream)
  expect(await listing).toEqual({ namespaces: ['a', 'b'], page_token: 'b' })
  expect(response.hasHead).toBe(false)
  const [arrival = { rawHeaders: [] }] = recording.requests
  expect(arrival).toMatchObject({
    method: 'GET',
    target: '/base/v1/namespace/./list?delimiter=.&limit=2&page_token=n',
  })
  expect(['x-api-key', 'x-request-id'].flatMap((name) => getHeaderValues(arrival, name))).toEqual([
    'of-the-gateway',
    'r-1',
  ])
  expect(upstream.slots.listing.used).toBe(0)
})

it.each<[what: string, status: number, body: string | object, kind: string, answered: number]>([
  ['an error', 404, { error: 'no such namespace', code: 1 }, 'NamespaceNotFound', 404],
  ['HTML', 503, '<h1>busy</h1>', 'ServiceUnavailable', 503],
  ['no JSON', 200, '<h1>hello</h1>', 'ServiceUnavailable', 502],
  ['a list', 200, [1], 'ServiceUnavailable', 502],
  ['nothing', 200, '', 'ServiceUnavailable', 502],
])('%s is thrown as a CatalogError', async (_what, status, body, kind, responded) => {
  const { recording, upstream } = await catalog()
  recording.answering = respondWith(status, body)
  const { listing } = await reading(upstream)
  await expect(listing).rejects.toMatchObject({ name: 'CatalogError', kind, status: responded })
})

it('retries after a closed connection, and stops if the client disconnects', async () => {
  const { recording, upstream } = await catalog()
  recording.answering = (_arrival, response) => response.socket?.destroy()
  await expect((await reading(upstream)).listing).rejects.toMatchObject({ status: 502 })
  expect(recording.requests).toHaveLength(2)
  recording.answering = () => undefined
  const { listing, leave } = await reading(upstream)
  await eventually(() => expect(recording.requests).toHaveLength(3))
  leave.abort()
  await expect(listing).rejects.toBeInstanceOf(ClientDisconnected)
  expect(upstream.slots.listing.used).toBe(0)
})
