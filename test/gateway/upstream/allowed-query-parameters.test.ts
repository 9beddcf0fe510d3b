import { describe, expect, it, onTestFinished } from 'vitest'
import { upstreamSchema } from '../../../src/config/upstream/upstream-settings.ts'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { expectError } from '../support/expect-error.ts'
import { startRecordingUpstream } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

const url = 'http://catalog.example'

/** `lake` serves a namespace of its own and accepts `region`; the other accepts `trace`. */
async function startTwo() {
  const lake = await startRecordingUpstream()
  onTestFinished(() => lake.close())
  const { gateway, upstream } = await startGatewayAndUpstream({
    adjust: (settings) => ({
      ...settings,
      upstreams: settings.upstreams.flatMap((usual) => [
        { ...usual, allowedQueryParameters: ['trace', 'Tag_2'] },
        {
          ...usual,
          name: 'lake',
          url: lake.url,
          namespaces: [['lake']],
          allowedQueryParameters: ['region'],
        },
      ]),
    }),
  })
  return { gateway, upstream, lake }
}

describe('an allowed query parameter', () => {
  it('is sent to its upstream, encoded again', async () => {
    const { gateway, upstream } = await startTwo()
    await gateway.post('/v1/table/orders/describe?trace=a%26with_table_uri%3Dtrue%2b+%41&Tag_2=')
    await gateway.post('/v1/table/orders/describe?tr%61ce=1')
    expect(upstream.requests.map(({ target }) => target)).toEqual([
      '/v1/table/orders/describe?trace=a%26with_table_uri%3Dtrue%2B%20A&Tag_2=',
      '/v1/table/orders/describe?trace=1',
    ])
  })

  it('is recorded with a change', async () => {
    const { gateway } = await startTwo()
    await gateway.post('/v1/table/orders/drop?trace=one')
    await gateway.stop()
    const [intent] = ofKind(await recordsOf(gateway.auditFolder), 'intent')
    expect(intent?.details).toMatchObject({ query_parameters: { trace: 'one' } })
  })

  it.each([
    ['repeated', '/v1/table/orders/describe?trace=1&trace=2', 'the query parameter "trace" is repeated'],
    ['in another spelling', '/v1/table/orders/describe?Trace=1', 'unknown query parameter "Trace"'],
    ['of another upstream', '/v1/table/orders/describe?region=1', 'unknown query parameter "region"'],
    ['of the other upstream', '/v1/table/lake$orders/describe?trace=1', 'unknown query parameter "trace"'],
    ['not allowed', '/v1/table/orders/describe?other=1', 'unknown query parameter "other"'],
  ])('is refused if it is %s', async (_what, target, says) => {
    const { gateway, upstream, lake } = await startTwo()
    expectError(await gateway.post(target), { kind: 'InvalidInput', says })
    expect([...upstream.requests, ...lake.requests]).toEqual([])
  })

  it('of a batch is that of the upstream of its objects', async () => {
    const { gateway, upstream, lake } = await startTwo()
    const entry = { id: ['lake', 'orders'], version: 2, manifest_path: 'lake/orders/_versions/s' }
    const send = (name: string) =>
      gateway.post(`/v1/table/version/batch-create?${name}=1`, { body: { entries: [entry] } })
    expectError(await send('trace'), { kind: 'InvalidInput', says: 'unknown query parameter "trace"' })
    expect(await send('region')).toMatchObject({ status: 200 })
    expect(upstream.requests).toEqual([])
    expect(lake.requests.map(({ target }) => target)).toEqual(['/v1/table/version/batch-create?region=1'])
  })

  it('goes to its upstream only, when a listing is merged from several', async () => {
    const { gateway, upstream, lake } = await startTwo()
    await gateway.get('/v1/table?trace=one')
    expect(upstream.requests[0]?.target).toContain('trace=one')
    expect(lake.requests.map(({ target }) => target).join()).not.toContain('trace')
  })
})

it.each([
  [
    'has a parameter, member, fact or credential of this name',
    'delimiter Branch with-table-uri withTableUri NEW_TABLE_NAME new-namespace-id manifestPath predicate index_name ' +
      'identity context storage_options x-api-key apiKey access_token X-Amz-Signature x-lancedb-database ' +
      'x-catalog-ctx-a',
  ],
  ['expected a letter', '_method query.branch \u017ftorage'],
  ['listed twice', 're-gion'],
])('the settings refuse a query parameter: %s: %s', (says, names) => {
  for (const name of names.split(' ')) {
    const found = upstreamSchema.safeParse({ url, allowedQueryParameters: ['region', name] }).error?.issues
    expect(found, name).toMatchObject([
      { path: ['allowedQueryParameters', 1], message: expect.stringContaining(says) as string },
    ])
  }
})

it.each(['', 'a b'])('the settings refuse the query parameter %j', (name) => {
  expect(upstreamSchema.safeParse({ url, allowedQueryParameters: [name] }).success).toBe(false)
})

it.each(['external_blob_mode', 'Allow-External-Blob-Outside-Bases', 'initialBases', 'target_bases'])(
  'the settings refuse %s, which lets values refer to objects',
  (name) => {
    expect(upstreamSchema.safeParse({ url, allowedQueryParameters: [name] }).success).toBe(false)
  },
)
