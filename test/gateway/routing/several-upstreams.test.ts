import { expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { useSharedGatewayAndUpstreams } from '../support/running-gateway.ts'
import { eventually } from '../../support/eventually.ts'

/** `rest` is the root upstream; `lake` has another delimiter and a base path. */
const shared = useSharedGatewayAndUpstreams({
  lake: { namespaces: [['prod', 'lake'], ['archive']], url: '/base', delimiter: '.' },
  raw: { namespaces: [['prod', 'lake', 'raw']] },
  rest: { namespaces: undefined },
})
type Name = keyof typeof shared.upstreams

function arrived(): Record<string, string[]> {
  const found = Object.entries(shared.upstreams).map(
    ([name, { requests }]) => [name, requests.map(({ target }) => target)] as const,
  )
  return Object.fromEntries(found.filter(([, targets]) => targets.length > 0))
}

const manifest = (id: string[]) => ({ id, version: 2, manifest_path: `${id.join('/')}/_versions/staged` })

// Every id is in upstream-for-id.test.ts.
it.each<[target: string, Name, sent: string]>([
  ['/v1/table/prod$lake$raw$events/describe', 'raw', '/v1/table/prod%24lake%24raw%24events/describe'],
  [
    '/v1/table/prod:lake:orders/describe?delimiter=:',
    'lake',
    '/base/v1/table/prod.lake.orders/describe?delimiter=.',
  ],
  ['/v1/namespace/$/describe', 'rest', '/v1/namespace/%24/describe'],
  // It also requires a permission that names no object.
  ['/v1/view/prod$lake$raw$late/create', 'raw', '/v1/view/prod%24lake%24raw%24late/create'],
])('%s goes to the upstream %s', async (target, name, sent) => {
  expect(await shared.gateway.post(target)).toMatchObject({ status: 200 })
  expect(arrived()).toEqual({ [name]: [sent] })
})

it.each<[what: string, target: string, body: object, Name, sent: string]>([
  [
    'of new versions',
    '/v1/table/version/batch-create',
    { entries: [manifest(['prod', 'lake', 'a']), manifest(['archive', 'b'])] },
    'lake',
    '/base/v1/table/version/batch-create',
  ],
  [
    'of commits',
    '/v1/table/batch-commit',
    { operations: [{ declare_table: { id: ['prod', 'lake', 'raw', 'a'] } }] },
    'raw',
    '/v1/table/batch-commit',
  ],
])(
  'a batch %s is sent to the upstream of its tables, which the audit log names',
  async (_what, target, body, name, sent) => {
    expect(await shared.gateway.post(target, { body })).toMatchObject({ status: 200 })
    expect(arrived()).toEqual({ [name]: [sent] })
    const intents = await shared.gateway.recorded('intent')
    expect(intents.at(-1)).toMatchObject({ upstream: name })
  },
)

it.each<[what: string, target: string, body: object]>([
  [
    'a batch',
    '/v1/table/version/batch-create',
    { entries: [manifest(['prod', 'lake', 'a']), manifest(['prod', 'lake', 'raw', 'b'])] },
  ],
  [
    'a batch that begins at the root',
    '/v1/table/batch-commit',
    { operations: [{ declare_table: { id: ['a'] } }, { deregister_table: { id: ['archive', 'b'] } }] },
  ],
  ['a rename', '/v1/table/prod$lake$a/rename', { new_table_name: 'a', new_namespace_id: ['prod'] }],
])('refuses %s across upstreams, and neither sends nor records it', async (_what, target, body) => {
  // The log is sealed from time to time.
  const changes = async () => shared.gateway.recorded('intent')
  const before = await changes()
  expectError(await shared.gateway.post(target, { body }), {
    kind: 'InvalidInput',
    says: 'different catalogs',
  })
  expect(arrived()).toEqual({})
  expect(await changes()).toEqual(before)
})

const named = (namespace: string[], name: string) => ({
  operations: [{ declare_table: { id: [...namespace, name] } }],
})

it('rejects a name that contains the delimiter of its own upstream only', async () => {
  const dotted = await shared.gateway.post('/v1/table/batch-commit', { body: named(['archive'], 'a.b') })
  expectError(dotted, { kind: 'InvalidInput', says: '"a.b"' })
  expect(await shared.gateway.post('/v1/table/batch-commit', { body: named(['prod'], 'a.b') })).toMatchObject(
    { status: 200 },
  )
  expect(arrived()).toEqual({ rest: ['/v1/table/batch-commit'] })
})

it('a failing upstream does not affect others', async () => {
  const { raw } = shared.upstreams
  const good = raw.handler
  raw.handler = (_arrival, response) => response.socket?.destroy()
  raw.healthStatus = 503
  await eventually(async () =>
    expect(await shared.gateway.post('/v1/table/prod$lake$raw$events/describe')).toMatchObject({
      status: 503,
    }),
  )
  expect(await shared.gateway.post('/v1/table/prod$lake$orders/describe')).toMatchObject({ status: 200 })
  const metrics = await shared.gateway.metrics()
  const broken = metrics
    .split('\n')
    .filter((line) => /^catalog_gateway_upstream_circuit_breaker_state.* 1$/.test(line))
  expect(broken.toSorted()).toEqual([
    'catalog_gateway_upstream_circuit_breaker_state{upstream="lake",state="closed"} 1',
    'catalog_gateway_upstream_circuit_breaker_state{upstream="raw",state="open"} 1',
    'catalog_gateway_upstream_circuit_breaker_state{upstream="rest",state="closed"} 1',
  ])
  expect(metrics).toMatch(
    /^catalog_gateway_upstream_request_duration_seconds_count\{upstream="lake",operation="DescribeTable"\} /m,
  )
  raw.handler = good
  raw.healthStatus = 200
  await eventually(async () =>
    expect(await shared.gateway.post('/v1/table/prod$lake$raw$events/describe')).toMatchObject({
      status: 200,
    }),
  )
})
