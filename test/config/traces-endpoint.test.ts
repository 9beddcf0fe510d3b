import { expect, it } from 'vitest'
import { tracesSchema } from '../../src/config/telemetry-settings.ts'
import { resolveTracesEndpoint } from '../../src/observability/traces/traces.ts'

const ofAllSignals = 'http://collector:4318/otlp/'
const ofTraces = 'http://traces:4318/custom'

it.each<[string, object, Record<string, string>, string]>([
  ['none', {}, {}, 'http://localhost:4318/v1/traces'],
  ['all signals', {}, { ENDPOINT: ofAllSignals }, 'http://collector:4318/otlp/v1/traces'],
  ['traces', {}, { ENDPOINT: ofAllSignals, TRACES_ENDPOINT: ofTraces }, ofTraces],
  [
    'the settings',
    { endpoint: 'http://settings/v1/traces' },
    { TRACES_ENDPOINT: ofTraces },
    'http://settings/v1/traces',
  ],
  ['the settings, with the path of traces', { endpoint: 'http://settings' }, {}, 'http://settings/v1/traces'],
])('the endpoint is that of %s', (_, settings, variables, url) => {
  expect(resolve(settings, variables).url).toBe(url)
})

it('headers are those of the environment, and those for traces come first', () => {
  const variables = { HEADERS: 'X-Tenant=a%20b, key = one', TRACES_HEADERS: 'key=two==,bad=%E0%A4%A' }
  const { headers } = resolve({}, variables)
  expect(headers).toMatchObject({ 'x-tenant': 'a b', key: 'two==' })
  expect(resolve({}, {}).headers).toEqual({})
})

function resolve(settings: object, variables: Record<string, string>) {
  const environment = Object.entries(variables).map(([name, value]) => [`OTEL_EXPORTER_OTLP_${name}`, value])
  return resolveTracesEndpoint(
    tracesSchema.parse(settings),
    Object.fromEntries(environment) as NodeJS.ProcessEnv,
  )
}
