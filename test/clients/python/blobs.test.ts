import { expect, inject, it } from 'vitest'
import {
  getHeaderValues,
  respondWith,
  type RequestHandler,
} from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { runScenario } from '../run-scenario.ts'
import { scriptCommand } from './python-scripts.ts'

const values: Readonly<Record<string, Buffer | null>> = {
  7: Buffer.from('0123456789'),
  8: Buffer.alloc(0),
  9: null,
}
const versions = { 'x-lancedb-version': '5', 'phalanx-version': '0.5.0' }
const json = { ...versions, 'content-type': 'application/json' }

/** A LanceDB server with one column of blobs; it returns no blob as a whole. */
const serveBlobs: RequestHandler = (arrival, response, request) => {
  const { target, rawHeaders } = arrival
  if (target.endsWith('/describe')) {
    const image = { name: 'image', nullable: true, type: { type: 'binary' } }
    return respondWith(200, { version: 5, schema: { fields: [image] } }, json)(arrival, response, request)
  }
  if (target.endsWith('/fetch_blobs')) {
    const error = 'Bad request: fetch_blobs accepts at most 67108864 total blob bytes'
    return respondWith(400, { error, code: 13 }, json)(arrival, response, request)
  }
  const value = values[/\/blob\/image\/(\d+)\/bytes/.exec(target)?.[1] ?? '']
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(getHeaderValues({ rawHeaders }, 'range')[0] ?? '') ?? []
  if (value === undefined || from === undefined) return response.writeHead(404).end()
  if (value === null) return response.writeHead(204, versions).end()
  const part = value.subarray(Number(from), to === '' ? undefined : Number(to) + 1)
  const bounds = part.length === 0 ? '*' : `${from}-${Number(from) + part.length - 1}`
  const headers = { ...versions, 'content-range': `bytes ${bounds}/${value.length}` }
  return response
    .writeHead(part.length === 0 ? 416 : 206, { ...headers, 'content-length': part.length })
    .end(part)
}

it('the newest client of LanceDB reads blobs by ranges', async ({ skip }) => {
  skip(!inject('installedClients').includes('lancedb-0.40.0'), 'lancedb-0.40.0 is not installed')
  const { gateway, upstream } = await startGatewayAndUpstream()
  upstream.handler = serveBlobs
  const command = scriptCommand('lancedb-0.40.0', 'lancedb_blobs_scenario.py')
  const passed = await runScenario(command, gateway.url, gateway.key('dev'))
  expect(passed).toHaveLength(3)
  expect(upstream.requests.filter(({ target }) => target.includes('/blob/image/7/bytes'))).toHaveLength(2)
})
