import { describe, expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

// Empty values that count as absent are removed; everything else arrives byte for byte.
const shared = useSharedGateway()

const table = '/v1/table/lake$t'
const namespace = '/v1/namespace/lake'
const batch = (entry: string): string => `{"operations":[${entry}]}`

async function arrivalOf(target: string, body: string) {
  const response = await shared.gateway.post(target, { body })
  expect(response.status, String(response.bytes)).toBe(200)
  expect(shared.upstream.requests).toHaveLength(1)
  const [arrival] = shared.upstream.requests
  return { target: arrival?.target ?? '', body: String(await arrival?.body) }
}

describe('an empty value that counts as absent is removed', () => {
  it.each<[target: string, sent: string, arrives: string]>([
    [`${table}/exists`, '{"id":[]}', '{}'],
    [`${table}/exists`, '{ "version" : 1 , "id" : [ ] }', '{ "version" : 1  }'],
    [`${table}/exists`, '{"id":[],"context":{ },"version":1}', '{"version":1}'],
    [`${table}/index/by_day/drop`, '{"id":[],"index_name":"by_day"}', '{"index_name":"by_day"}'],
    [`${namespace}/create`, '{"id":[],"mode":"Create","properties":{}}', '{"mode":"Create"}'],
    [`${table}/declare`, '{"properties":{},"location":"lake/t"}', '{"location":"lake/t"}'],
    [`${table}/query`, '{"k":1,"vector":{"single_vector":[],"multi_vector":[]}}', '{"k":1,"vector":{}}'],
    [
      `${table}/query`,
      '{"columns":{"column_names":["a"],"column_aliases":{}},"k":1}',
      '{"columns":{"column_names":["a"]},"k":1}',
    ],
    [
      `${table}/query`,
      '{"full_text_query":{"string_query":{},"structured_query":{"query":{}}},"k":1}',
      '{"full_text_query":{"structured_query":{"query":{}}},"k":1}',
    ],
    [
      `${table}/explain_plan`,
      '{"query":{"id":[],"context":{},"vector":{"single_vector":[],"multi_vector":[[1]]},"k":1}}',
      '{"query":{"vector":{"multi_vector":[[1]]},"k":1}}',
    ],
    [
      `${table}/explain_plan`,
      '{"id":[],"context":{},"query":{"columns":{"column_names":["a"],"column_aliases":{}},"full_text_query":' +
        '{"string_query":{"query":"a"},"structured_query":{}}}}',
      '{"query":{"columns":{"column_names":["a"]},"full_text_query":{"string_query":{"query":"a"}}}}',
    ],
    [
      `${table}/analyze_plan`,
      '{"query":{"id":[],"columns":{"column_names":[]}}}',
      '{"query":{"columns":{}}}',
    ],
  ])('%s removes the empty values of %s', async (target, sent, arrives) => {
    expect((await arrivalOf(target, sent)).body).toBe(arrives)
  })
})

describe('an empty value is a value', () => {
  it.each<[target: string, sent: string]>([
    // A bare list of columns selects none.
    [`${table}/query`, '{"k":1,"columns":[]}'],
    [`${table}/query`, '{"k":1,"vector":[]}'],
    [`${table}/query`, '{"k":0,"filter":"","version":0,"vector":{}}'],
    [
      `${table}/query`,
      '{"full_text_query":{"structured_query":{"query":{"boolean":{"must":[],"should":[]}}}}}',
    ],
    // Required members, and parts of present ones.
    [`${table}/update`, '{"updates":[]}'],
    [`${table}/update_field_metadata`, '{"updates":[{"path":"a","metadata":{}}]}'],
    [`${table}/version/create`, '{"version":0,"manifest_path":"lake/t/_versions/s","metadata":{}}'],
    // The properties of an update replace the existing ones.
    [`${table}/update`, '{"updates":[],"properties":{}}'],
    [`${table}/delete`, '{"predicate":""}'],
    // Strings and numbers.
    [`${table}/describe`, '{"branch":"","version":0}'],
    // A map of the caller.
    [`${table}/schema_metadata/update`, '{}'],
    // Booleans whose absence does not mean false.
    [`${table}/describe`, '{"vend_credentials":false}'],
    ['/v1/materialized_view/lake$v/create', '{"kind":"query","with_no_data":false}'],
    // Entries have ids of their own.
    ['/v1/table/batch-commit', batch('{"declare_table":{"id":["lake","t"],"properties":{}}}')],
    ['/v1/table/batch-commit', batch('{"deregister_table":{"id":["lake","t"],"context":{}}}')],
  ])('%s forwards %s unchanged', async (target, sent) => {
    expect((await arrivalOf(target, sent)).body).toBe(sent)
  })

  it.each<[target: string, sent: string, says: RegExp]>([
    ['/v1/table/batch-commit', '{"operations":[]}', /is a list; expected a list of at least one object/],
    [`${table}/exists`, '{"id":null, "version":1, "id":[]}', /duplicate key "id"/],
  ])('%s %s is rejected', async (target, body, says) => {
    expectError(await shared.gateway.post(target, { body }), { kind: 'InvalidInput', says })
    expect(shared.upstream.requests).toEqual([])
  })
})

async function recordOf(body: string): Promise<string> {
  await shared.gateway.post(`${namespace}/create`, { body })
  return JSON.stringify((await shared.gateway.recorded('intent')).at(-1))
}

it('does not record removed values', async () => {
  expect(await recordOf('{"mode":"ExistOk","properties":{"env":"dev"}}')).toContain('"property_keys"')
  expect(await recordOf('{"mode":"ExistOk","properties":{}}')).not.toContain('"property_keys"')
})

describe('the flags of DescribeTable', () => {
  const flags = ['with_table_uri', 'load_detailed_metadata', 'check_declared']

  it.each(flags)('%s: true in the query wins against the default in the body', async (flag) => {
    const arrival = await arrivalOf(
      `${table}/describe?${flag}=true`,
      `{"version":1,"${flag}": false ,"context":{"a":"b"}}`,
    )
    expect(arrival).toEqual({
      target: `/v1/table/lake%24t/describe?${flag}=true`,
      body: `{"version":1,"${flag}": true ,"context":{"a":"b"}}`,
    })
  })

  it.each(flags)('%s: a contradiction is refused, and other values are not defaults', async (flag) => {
    for (const [inQuery, inBody, says] of [
      ['false', 'true', 'they must not differ'],
      ['true', '""', `"${flag}" in the body is .*; expected true or false`],
    ] as const) {
      const response = await shared.gateway.post(`${table}/describe?${flag}=${inQuery}`, {
        body: `{"${flag}":${inBody}}`,
      })
      expectError(response, { kind: 'InvalidInput', says })
    }
    expect(shared.upstream.requests).toEqual([])
  })

  it('the query does not override another flag, or another operation', async () => {
    const describe = await shared.gateway.post(`${table}/version/list?descending=true`, {
      body: '{"descending":false}',
    })
    expectError(describe, { kind: 'InvalidInput', says: 'they must not differ' })
    const analyze = `${table}/analyze_plan?distributed_metrics=per_worker`
    const response = await shared.gateway.post(analyze, { body: '{"distributed_metrics":"full"}' })
    expectError(response, { kind: 'InvalidInput', says: 'has no member "distributed_metrics"' })
  })
})
