import { Counter, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createRequestCounter } from '../../../src/observability/metrics/request-counter.ts'

const common = { name: 'things_total', help: 'How many.', labelNames: ['kind', 'result'] as const }

it('matches the counter of prom-client, however often it is collected', async () => {
  const [own, theirs] = [new Registry(), new Registry()]
  const counter = createRequestCounter({ ...common, registers: [own] })
  const slow = new Counter({ ...common, registers: [theirs] })
  const kinds = ['one', 'a "quoted" one', '']
  const series = kinds.map((kind) => counter.labels(kind, 'good'))
  for (const rounds of [0, 1, 3]) {
    for (let round = 0; round < rounds; round += 1) {
      for (const each of series) each.inc()
      for (const kind of kinds) slow.inc({ kind, result: 'good' })
    }
    if (rounds > 0) expect(await own.metrics()).toBe(await theirs.metrics())
    expect(await own.metrics()).toBe(await own.metrics())
  }
})

it('equal labels are one series', async () => {
  const registry = new Registry()
  const counter = createRequestCounter({ ...common, registers: [registry] })
  counter.labels('one', 'good').inc()
  counter.labels('one', 'good').inc()
  expect(await registry.metrics()).toContain('things_total{kind="one",result="good"} 2\n')
})
