import { expect, it } from 'vitest'
import { refusalsCounted } from '../gateway/counted.ts'
import { openRaw } from '../gateway/raw-connection.ts'
import { rawRequest } from '../gateway/raw-exchange.ts'
import { answers } from '../gateway/recording-upstream.ts'
import { deferred, eventually } from '../gateway/waiting.ts'
import { sharedGateway } from '../gateway/running-gateway.ts'

// Requests that are sent ahead of answers all run at once, and their answers wait in memory for the first.
const shared = sharedGateway()

function requests(count: number, ...last: string[]): string {
  const lines = ['GET /v1/table HTTP/1.1', 'host: g', `x-api-key: ${shared.gateway.key('dev')}`]
  return rawRequest(lines).repeat(count - 1) + rawRequest([...lines, ...last])
}

it('some requests ahead are served, in their order', async () => {
  let count = 0
  shared.upstream.answering = (arrival, response, request) =>
    answers(200, { tables: [String((count += 1))] })(arrival, response, request)
  const connection = openRaw(shared.gateway.url)
  connection.write(requests(20, 'connection: close'))
  const text = await connection.end()
  expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(20)
})

it('too many requests ahead cost their connection', async () => {
  const { gateway, upstream } = shared
  const finish = deferred()
  upstream.answering = (arrival, response, request) =>
    finish.promise.then(() => answers(200, {})(arrival, response, request))
  const connection = openRaw(gateway.url)
  connection.write(requests(5_000))
  expect(await connection.end()).toBe('')
  finish.resolve(undefined)
  expect(await refusalsCounted(gateway, 'too_many_requests_at_once')).toBe(1)
  expect(upstream.arrivals.length).toBeLessThanOrEqual(64)
  upstream.answering = answers(200, {})
  await eventually(async () =>
    expect(await gateway.get('/v1/table/o/tags/list')).toMatchObject({ status: 200 }),
  )
})
