import { Counter, Gauge, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { DurationHistogram } from '../../../src/observability/metrics/duration-histogram.ts'
import { renderMetrics } from '../../../src/observability/metrics/render-metrics.ts'

const asPrometheusAsks =
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,' +
  'text/plain;version=0.0.4;q=0.5,*/*;q=0.1'

function twoRegistries(): Registry[] {
  const [first, second] = [new Registry(), new Registry()]
  new Counter({ name: 'calls_total', help: 'Calls.', labelNames: ['kind'], registers: [first] }).inc(
    { kind: 'a' },
    2,
  )
  new Gauge({ name: 'waiting', help: 'Waiting.', registers: [second] }).set(3)
  const histogram = new DurationHistogram({
    name: 'took_seconds',
    help: 'How long.',
    labelNames: [],
    buckets: [0.1, 1],
  })
  second.registerMetric(histogram)
  const seconds = histogram.labels()
  seconds.observe(0.05)
  seconds.observe(0.5, '0af7651916cd43dd8448eb211c80319c')
  return [first, second]
}

const plain = `# HELP calls_total Calls.
# TYPE calls_total counter
calls_total{kind="a"} 2

# HELP waiting Waiting.
# TYPE waiting gauge
waiting 3

# HELP took_seconds How long.
# TYPE took_seconds histogram
took_seconds_bucket{le="0.1"} 1
took_seconds_bucket{le="1"} 2
took_seconds_bucket{le="+Inf"} 2
took_seconds_sum 0.55
took_seconds_count 2
`

it('renders text, and OpenMetrics with exemplars on request, in any order', async () => {
  const registries = twoRegistries()
  for (const accept of [undefined, '*/*', 'text/plain', 'application/openmetrics-text; version=0.0.1']) {
    expect(await renderMetrics(registries, accept)).toEqual({
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
      text: plain,
    })
    const open = await renderMetrics(registries, asPrometheusAsks)
    expect(open.contentType).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
    expect(open.text).toContain('# TYPE calls counter\ncalls_total{kind="a"} 2\n')
    expect(open.text).toMatch(
      /^took_seconds_bucket\{le="1"\} 2 # \{trace_id="0af7651916cd43dd8448eb211c80319c"\} 0\.5 1\d+\.?\d*$/m,
    )
    expect(open.text).toMatch(/\n# EOF\n$/)
    expect(open.text).not.toContain('\n\n')
  }
})
