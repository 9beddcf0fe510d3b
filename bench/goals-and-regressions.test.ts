import { expect, it } from 'vitest'
import { missedGoals, regressions, tableOf } from './report.ts'

const committed = { key: { envoy: 40, 'gateway-24': 30, plugin: 50 } }

it('reports a figure of the gateway that is 15 % worse relative to Envoy', () => {
  expect(regressions({ key: { envoy: 40, 'gateway-24': 34, plugin: 50 } }, committed)).toEqual([])
  expect(regressions({ key: { envoy: 40, 'gateway-24': 35, plugin: 58 } }, committed)).toEqual([
    'gateway-24: small call with a key, CPU µs: 17 % worse, from 0.75 to 0.88 times envoy',
    'plugin: small call with a key, CPU µs: 16 % worse, from 1.25 to 1.45 times envoy',
  ])
})

it('reports a latency that has doubled relative to Envoy', () => {
  const before = { 'beside-uploads-p99': { envoy: 20, 'gateway-24': 20, 'gateway-20': 20 } }
  const now = { 'beside-uploads-p99': { envoy: 20, 'gateway-24': 39, 'gateway-20': 40 } }
  expect(regressions(now, before)).toEqual([
    'gateway-20: 500 small calls/s beside two 256 MiB uploads, p99 ms: 100 % worse, from 1.00 to 2.00 times envoy',
  ])
})

it('reports no regression on a machine that is slower for both', () => {
  expect(regressions({ key: { envoy: 80, 'gateway-24': 60, plugin: 100 } }, committed)).toEqual([])
})

it('accepts a fifth more on Node 20 and 22, and has no goals for other servers', () => {
  const medians = {
    key: { 'gateway-20': 36, 'gateway-22': 37, 'gateway-24': 31, caddy: 99 },
    'connections-p99': { envoy: 50, 'gateway-20': 61, 'gateway-24': 50 },
  }
  expect(missedGoals(medians)).toEqual([
    'gateway-22: small call with a key, CPU µs: 37; goal 36.0',
    'gateway-24: small call with a key, CPU µs: 31; goal 30.0',
    'gateway-20: 1,000 connections, p99 ms: 61; goal 60.0',
  ])
  expect(tableOf(medians, ['gateway-20', 'gateway-22', 'gateway-24', 'caddy'])).toContain(
    '| small call with a key, CPU µs | 30 | 36 | **37** | **31** | 99 |',
  )
})
