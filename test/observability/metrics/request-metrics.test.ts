import { expect, it } from 'vitest'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { seriesOf } from './series.ts'
import { eventually } from '../../support/eventually.ts'

const version = {
  version: 7,
  manifest_path: 'prod/orders/_versions/7.manifest',
  manifest_size: 4_096,
  e_tag: 'e',
}

it('each stage of a request is timed once, and no other', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream({ users: ['nobody'] })
  upstream.answering = respondWith(200, { version: { version: 7 } })
  await gateway.post('/v1/table/prod$orders/version/create', { body: version })
  await gateway.post('/v1/table/prod$orders/version/create', { as: 'nobody', body: version })
  await gateway.post('/v1/table/prod$orders/describe')
  await eventually(async () =>
    expect(await seriesOf(gateway, 'catalog_gateway_stage_duration_seconds_count')).toEqual({
      '{stage="receive"}': 3,
      '{stage="match"}': 3,
      '{stage="authenticate"}': 3,
      '{stage="authorize"}': 3,
      '{stage="limit"}': 2,
      '{stage="read_body"}': 2,
      '{stage="authorize_body"}': 2,
      '{stage="place"}': 2,
      '{stage="limit_entries"}': 2,
      '{stage="audit"}': 2,
      '{stage="send"}': 2,
      '{stage="record"}': 2,
      '{stage="respond"}': 2,
    }),
  )
  expect(await seriesOf(gateway, 'catalog_gateway_active_requests')).toEqual({ '': 0 })
})

it('changes are counted by outcome', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream()
  const create = '/v1/table/prod$orders/version/create'
  upstream.answering = respondWith(200, { version: { version: 7 } })
  await gateway.post(create, { body: version })
  upstream.answering = respondWith(409, { error: 'there is one', code: 14 })
  await gateway.post(create, { body: version })
  upstream.answering = respondWith(200, {})
  await gateway.post('/v1/namespace/prod/create', { body: {} })
  await gateway.post('/v1/table/prod$orders/describe')
  expect(await seriesOf(gateway, 'catalog_gateway_changes_total')).toEqual({
    '{operation="CreateTableVersion",effect="commit",result="committed"}': 1,
    '{operation="CreateTableVersion",effect="commit",result="rejected"}': 1,
    '{operation="CreateNamespace",effect="change",result="committed"}': 1,
  })
})

it('requests are only counted by the namespaces that the settings list', async () => {
  const { gateway } = await startGatewayAndUpstream({
    users: ['nobody'],
    adjust: (settings) => ({ ...settings, metrics: { namespaces: ['prod', 'orders'] } }),
  })
  await gateway.post('/v1/table/prod$orders/describe')
  await gateway.post('/v1/namespace/prod/describe')
  // A table in the root namespace is not in a namespace of its own name.
  await gateway.post('/v1/table/orders/describe')
  await gateway.post('/v1/table/made-up-by-a-caller$orders/describe')
  await gateway.post('/v1/namespace/$/describe')
  await gateway.get('/v1/no-route')
  const counted = await eventually(async () => {
    const found = await seriesOf(gateway, 'catalog_gateway_requests_total')
    expect(Object.keys(found)).toHaveLength(5)
    return found
  })
  expect(counted).toEqual({
    '{operation="DescribeTable",status="200",decision="allow",catalog_namespace="prod"}': 1,
    '{operation="DescribeTable",status="200",decision="allow",catalog_namespace="other"}': 2,
    '{operation="DescribeNamespace",status="200",decision="allow",catalog_namespace="prod"}': 1,
    '{operation="DescribeNamespace",status="200",decision="allow",catalog_namespace="other"}': 1,
    '{operation="unknown",status="406",decision="none",catalog_namespace="other"}': 1,
  })
})
