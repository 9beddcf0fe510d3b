import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { expectError } from '../../gateway/support/expect-error.ts'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'
import { createDeferred } from '../../gateway/support/waiting.ts'

// A body that is too large to be buffered streams to the upstream while it is checked. A contradiction to the route may
// follow all other members: the upstream must never receive the end of such a body. What contradicts is the same as in a body
// that is read whole.
const shared = useSharedGateway()
const query = '/v1/table/sandbox%24orders/query'
const remove = '/v1/table/sandbox%24orders/delete'
const large = `"vector":[${`${'0.25'.padEnd(40, '0')},`.repeat(50_000)}0.5]`
const largeChange = `"predicate":"true${' '.repeat(1_600_000)}"`

const contradictions: [label: string, target: string, end: string, says: RegExp][] = [
  ['another id', query, ',"id":["production","orders"]}', /"id" is \["production","orders"\] in the body/],
  ['an id in other letters', query, ',"ID":["production"]}', /is ambiguous; write "id"/],
  ['a query in the query', query, ',"query":{"id":["production","orders"]}}', /has no member "query"/],
  ['an unknown member', query, ',"k":1,"unheard_of":1}', /has no member "unheard_of"/],
  [
    'a reserved context key',
    query,
    ',"context":{"\\u0067ateway-user":"root"}}',
    /is reserved for the gateway/,
  ],
  ['a branch that is a path', query, ',"branch":"../x"}', /is not a valid branch name/],
  [
    'a fact of a change that the audit log would miss',
    remove,
    ',"branch":"main"}',
    /"branch" is too late in a body of this size/,
  ],
  ['an object behind it', query, '}{"id":["production","orders"]}', /not valid JSON/],
]

function bodyOf(end: string, start = large): Buffer {
  return Buffer.concat([Buffer.from(`{${start}`), Buffer.from(end)])
}

function inChunks(body: Buffer): Readable {
  return Readable.from([body.subarray(0, 1_000_000), body.subarray(1_000_000)], { objectMode: false })
}

it.each(contradictions)('%s is rejected before the body is complete', async (_label, target, end, says) => {
  const { gateway, upstream } = shared
  const whole = bodyOf(end, target === query ? large : largeChange)
  for (const body of [whole, inChunks(whole)]) {
    expectError(await gateway.post(target, { body }), { kind: 'InvalidInput', says })
    // Ensures that a part was sent upstream, as for large bodies only.
    const [arrival, ...others] = upstream.requests.splice(0)
    expect([arrival?.target, others]).toEqual([target, []])
    await expect(arrival?.body).rejects.toThrow('aborted')
  }
  expect(await gateway.post(query, { body: { k: 1 } })).toMatchObject({ status: 200 })
})

it.each([512 * 1024, 900 * 1024])(
  'forwards nothing of a change of %i bytes that ends with a contradiction',
  async (bytes) => {
    const { gateway, upstream } = shared
    const filler = `"id":null,"predicate":"a = '${'x'.repeat(bytes)}'"`
    for (const end of [',"identity":null,"branch":"../x"}', ',"unheard_of":1}', ',"predicate":"b"}', '}}']) {
      const body = Buffer.from(`{${filler}${end}`)
      for (const sent of [
        body,
        Readable.from([body.subarray(0, 300_000), body.subarray(300_000)], { objectMode: false }),
      ]) {
        expect(await gateway.post(remove, { body: sent })).toMatchObject({ status: 400 })
      }
    }
    expect(await gateway.post(query, { body: { k: 1 } })).toMatchObject({ status: 200 })
    expect(upstream.requests).toMatchObject([{ target: query }])
  },
)

it('an upstream that responds early has not received a complete body', async () => {
  const { gateway, upstream } = shared
  const isWhole = createDeferred<boolean>()
  upstream.answering = (_arrival, response, request) => {
    request.socket.once('close', () => isWhole.resolve(request.complete))
    response.writeHead(200).end('{}')
  }
  await gateway.post(remove, { body: bodyOf(',"id":["production"]}', largeChange) }).catch(() => undefined)
  expect(await isWhole.promise).toBe(false)
})

it('does not forward an identity after it, or a context that a header overrides', async () => {
  const { gateway, upstream } = shared
  const end =
    ',"id":["sandbox","orders"], "identity" : {"api_key":"k"} ,"context":{"Trace":"1","b":"2"},"k":3}'
  for (const body of [bodyOf(end), inChunks(bodyOf(end))]) {
    const headers = { 'x-catalog-ctx-trace': '7' }
    expect(await gateway.post(query, { body, headers })).toMatchObject({ status: 200 })
    const [arrival] = upstream.requests.splice(0)
    expect(String(await arrival?.body)).toBe(
      `{${large},"id":["sandbox","orders"] ,"context":{"b":"2"},"k":3}`,
    )
  }
})

it('forwards a large valid body byte for byte', async () => {
  const { gateway, upstream } = shared
  const body = bodyOf(' , "id" : ["sandbox","orders"],"filter":"a = \\"\\u00e9\\"" }\r\n')
  for (const sent of [body, inChunks(body)]) {
    expect(await gateway.post(query, { body: sent })).toMatchObject({ status: 200 })
    const [arrival] = upstream.requests.splice(0)
    expect((await arrival?.body)?.equals(body)).toBe(true)
  }
})

it('never streams members that affect the decision: such a large body is not read to its end', async () => {
  const { gateway, upstream } = shared
  const name = `"new_table_name":"${'o'.repeat(2_000_000)}"`
  const body = bodyOf(',"new_namespace_id":["production"]}', name)
  for (const sent of [body, inChunks(body)]) {
    const response = await gateway.post('/v1/table/sandbox$orders/rename', { body: sent })
    expectError(response, {
      kind: 'InvalidInput',
      status: 413,
      says: 'larger than the limit of 1 MiB',
    })
  }
  expect(upstream.requests).toEqual([])
})
