import { expect, it } from 'vitest'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { sendRaw } from '../../gateway/support/raw-request.ts'
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
  upstream.handler = respondWith(200, { version: { version: 7 } })
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
  upstream.handler = respondWith(200, { version: { version: 7 } })
  await gateway.post(create, { body: version })
  upstream.handler = respondWith(409, { error: 'there is one', code: 14 })
  await gateway.post(create, { body: version })
  upstream.handler = respondWith(200, {})
  await gateway.post('/v1/namespace/prod/create', { body: {} })
  await gateway.post('/v1/table/prod$orders/describe')
  expect(await seriesOf(gateway, 'catalog_gateway_changes_total')).toEqual({
    '{operation="CreateTableVersion",effect="commit",result="committed"}': 1,
    '{operation="CreateTableVersion",effect="commit",result="rejected"}': 1,
    '{operation="CreateNamespace",effect="change",result="committed"}': 1,
  })
})

it('counts requests by operation, status and decision, and refusals by stage and reason', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream({ users: ['nobody'] })
  const describe = '/v1/table/secret-name/describe'
  await gateway.post(describe)
  await gateway.post(describe)
  await gateway.post(describe, { as: 'nobody' })
  await gateway.post(describe, { as: null })
  await gateway.post(describe, { body: { id: ['other'] } })
  await gateway.get('/v1/secret-route')
  await gateway.post('/v1/table/secret-name/drop')
  upstream.handler = respondWith(503, '')
  await gateway.post('/v1/table/secret-name/drop')
  await sendRaw(gateway.url, 'nonsense\r\n\r\n')

  const text = await eventually(async () => {
    const found = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    expect(found).toContain('requests_total{operation="DropTable",status="424",decision="allow"} 1')
    return found
  })
  const counted = text.split('\n').filter((line) => /^catalog_gateway_(requests|refusals)_total\{/.test(line))
  expect(counted.toSorted()).toEqual([
    'catalog_gateway_refusals_total{stage="authenticate",reason="missing_credential"} 1',
    'catalog_gateway_refusals_total{stage="authorize",reason="no_rule"} 1',
    'catalog_gateway_refusals_total{stage="match",reason="unknown_operation"} 1',
    'catalog_gateway_refusals_total{stage="read_body",reason="conflicting_values"} 1',
    'catalog_gateway_refusals_total{stage="receive",reason="malformed_request"} 1',
    'catalog_gateway_requests_total{operation="DescribeTable",status="200",decision="allow"} 2',
    'catalog_gateway_requests_total{operation="DescribeTable",status="400",decision="none"} 1',
    'catalog_gateway_requests_total{operation="DescribeTable",status="401",decision="none"} 1',
    'catalog_gateway_requests_total{operation="DescribeTable",status="403",decision="deny"} 1',
    'catalog_gateway_requests_total{operation="DropTable",status="200",decision="allow"} 1',
    'catalog_gateway_requests_total{operation="DropTable",status="424",decision="allow"} 1',
    'catalog_gateway_requests_total{operation="unknown",status="406",decision="none"} 1',
  ])
  expect(text).toMatch(/^catalog_gateway_request_duration_seconds_count\{operation="DropTable"\} 2$/m)
  expect(text).toMatch(
    /^catalog_gateway_upstream_request_duration_seconds_count\{upstream="catalog",operation="DropTable"\} 2$/m,
  )
  expect(text).not.toMatch(/secret|nobody|"dev"/)
})
