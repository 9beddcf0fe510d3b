import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { runningBackend } from '../support/running-backend.ts'

it('counts calls, errors, queries, storage and jobs, without a token', async () => {
  const { post, url } = await runningBackend({ accessToken: 'a'.repeat(16) })
  const headers = { authorization: `Bearer ${'a'.repeat(16)}` }
  await post('/v1/table/t/create', streamOf(orders(3)), headers)
  await post('/v1/table/t/create_index', { column: 'id', index_type: 'BTREE' }, headers)
  await post('/v1/table/missing/describe', {}, headers)
  await post('/v1/table/t/describe')
  const response = await fetch(`${url()}/metrics`)
  expect(response.headers.get('content-type')).toContain('text/plain')
  const text = await response.text()
  const read = (sample: string): number =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${sample} `))
        ?.slice(sample.length),
    )
  const count = (operation: string, status: number) =>
    read(`catalog_request_duration_seconds_count{operation="${operation}",status="${status}"}`)
  expect(count('CreateTable', 200)).toBe(1)
  expect(count('CreateTableIndex', 200)).toBe(1)
  expect(count('DescribeTable', 404)).toBe(1)
  expect(count('none', 401)).toBe(1)
  expect(read('catalog_active_requests')).toBe(1)
  expect(read('catalog_upload_memory_bytes')).toBe(0)
  expect(read('catalog_lock_waiting{lock="data"}')).toBe(0)
  expect(read('catalog_unfinished_jobs')).toBe(0)
  expect(read('catalog_running_jobs')).toBe(0)
  expect(read('catalog_database_query_duration_seconds_count{outcome="success"}')).toBeGreaterThan(10)
  expect(
    read('catalog_storage_call_duration_seconds_count{call="create",outcome="success"}'),
  ).toBeGreaterThan(0)
})
