import { expect, it } from 'vitest'
import { sinksSchema } from '../../../src/config/audit-settings.ts'
import { otlpSettings, linesInLog } from '../../audit/sinks/log-with-sinks.ts'
import { distinct, fails, linesOf, startReceiver, takes } from '../../audit/sinks/http-receiver.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { eventually } from '../../support/eventually.ts'

async function metricsOf(adminUrl: string): Promise<string> {
  return (await fetch(`${adminUrl}/metrics`)).text()
}

it('a failing sink blocks no change, appears in the metrics, and gets all records later', async () => {
  const receiver = await startReceiver()
  receiver.receiving = fails
  const sinks = sinksSchema.parse([otlpSettings(receiver.url)])
  const { gateway, upstream } = await startGatewayAndUpstream({ settings: { audit: { sinks } } })
  // An alert on the increase would miss the first rejected record of a counter that starts at 1.
  expect(await metricsOf(gateway.adminUrl)).toMatch(
    /^catalog_gateway_audit_sink_records_rejected_total\{sink="receiver"\} 0$/m,
  )
  upstream.handler = respondWith(200, { version: 3 })
  for (const name of ['one', 'two', 'three']) {
    const response = await gateway.post(`/v1/table/${name}/delete`, {
      headers: { 'x-catalog-ctx-tenant': 'tenant of acme' },
      body: { predicate: "name = 'planted'" },
    })
    expect(response.status).toBe(200)
  }
  await eventually(async () => {
    const metrics = await metricsOf(gateway.adminUrl)
    expect(metrics).toMatch(/^catalog_gateway_audit_sink_delivery_failures_total\{sink="receiver"\} [1-9]/m)
    expect(metrics).toMatch(/^catalog_gateway_audit_sink_lag_records\{sink="receiver"\} [1-9]/m)
    expect(metrics).toMatch(/^catalog_gateway_audit_sink_lag_seconds\{sink="receiver"\} \d/m)
  })
  receiver.receiving = takes
  await eventually(async () => {
    const metrics = await metricsOf(gateway.adminUrl)
    expect(metrics).toMatch(/^catalog_gateway_audit_sink_lag_records\{sink="receiver"\} 0$/m)
    expect(metrics).toMatch(
      /^catalog_gateway_audit_sink_last_success_timestamp_seconds\{sink="receiver"\} 1/m,
    )
  })
  await gateway.stop()
  const lines = await linesInLog(gateway.auditFolder)
  expect(distinct(linesOf(receiver.taken))).toEqual(lines)
  expect(lines.filter((line) => line.includes('"predicate":"hmac-sha256:')).length).toBe(3)
  expect(lines.join('\n')).not.toMatch(/planted|tenant of acme/)
})
