import { expect, it } from 'vitest'
import { respondWith } from '../support/recording-upstream.ts'
import { sendRaw } from '../support/raw-request.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { eventually } from '../../support/eventually.ts'

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
  upstream.answering = respondWith(503, '')
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
