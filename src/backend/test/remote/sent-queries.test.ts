import { expect, it, onTestFinished } from 'vitest'
import { arrowFileType } from '../../../catalog-api/headers.ts'
import { respondWith, startRecordingUpstream } from '../../../../test/gateway/support/recording-upstream.ts'
import { runningAdapter } from './running-adapter.ts'

const noVector = { single_vector: [] }
const match = { terms: 'a', column: 'name' }
const maxK = 2 ** 31 - 1

async function sendThrough(path: string, body: string): Promise<unknown> {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  upstream.answering =
    path === 'query' ? respondWith(200, 'ARROW1', { 'content-type': arrowFileType }) : respondWith(200, '""')
  const { post } = await runningAdapter(upstream.url)
  expect(await post(`/v1/table/t/${path}`, body)).toMatchObject({ status: 200 })
  return JSON.parse(String(await upstream.requests[0]?.body))
}

it.each<[sent: object, arrives: object]>([
  [{ k: 2 }, { k: 2, vector: noVector }],
  [
    { k: 2, vector: null },
    { k: 2, vector: noVector },
  ],
  [
    { k: 2, vector: [] },
    { k: 2, vector: noVector },
  ],
  [
    { k: 2, vector: {} },
    { k: 2, vector: noVector },
  ],
  [
    { k: 2, vector: noVector },
    { k: 2, vector: noVector },
  ],
  [
    { k: 2, vector: { multi_vector: [] } },
    { k: 2, vector: noVector },
  ],
  [
    { k: 2, vector: [1e300, 0.1] },
    { k: 2, vector: { single_vector: [1e300, 0.1] } },
  ],
  [
    { k: 2, vector: [[1, 2]] },
    { k: 2, vector: { single_vector: [1, 2] } },
  ],
  [
    { k: 2, vector: [[1], [2]] },
    { k: 2, vector: { multi_vector: [[1], [2]] } },
  ],
  [
    { k: 2, vector: { multi_vector: [[1], [2]] } },
    { k: 2, vector: { multi_vector: [[1], [2]] } },
  ],
  [{ vector: [1] }, { k: 10, vector: { single_vector: [1] } }],
  [{ filter: 'id = 1' }, { k: maxK, vector: noVector, filter: 'id = 1' }],
  [
    { k: 0, vector: [] },
    { k: 0, vector: noVector },
  ],
  [
    { k: 2, columns: ['a', 'b'] },
    { k: 2, vector: noVector, columns: { column_names: ['a', 'b'] } },
  ],
  [
    { k: 2, columns: [] },
    { k: 2, vector: noVector, columns: { column_names: [] } },
  ],
  [
    { k: 2, columns: { a: 'b + 1' } },
    { k: 2, vector: noVector, columns: { column_aliases: { a: 'b + 1' } } },
  ],
  [
    { k: 2, columns: [['a', 'b + 1']] },
    { k: 2, vector: noVector, columns: { column_aliases: { a: 'b + 1' } } },
  ],
  [
    { k: 2, columns: { column_names: ['a'] } },
    { k: 2, vector: noVector, columns: { column_names: ['a'] } },
  ],
  [
    { k: 2, full_text_query: { query: 'a', columns: ['name'] } },
    { k: 2, vector: noVector, full_text_query: { string_query: { query: 'a', columns: ['name'] } } },
  ],
  [
    { full_text_query: { query: { match } } },
    { k: 10, vector: noVector, full_text_query: { structured_query: { query: { match } } } },
  ],
  [
    { k: 2, full_text_query: { query: { multi_match: { query: 'a', columns: ['name'] } } } },
    {
      k: 2,
      vector: noVector,
      full_text_query: { structured_query: { query: { multi_match: { match_queries: [match] } } } },
    },
  ],
  [
    { k: 2, ef: null, version: null, later_member: [null] },
    { k: 2, vector: noVector, later_member: [null] },
  ],
])('the query %j arrives as %j, and so does that of a plan in both forms', async (sent, arrives) => {
  const body = JSON.stringify(sent)
  const nested = `{"query":${body}}`
  expect(await sendThrough('query', body)).toEqual(arrives)
  expect(await sendThrough('analyze_plan', body)).toEqual(arrives)
  expect(await sendThrough('analyze_plan', nested)).toEqual(arrives)
  expect(await sendThrough('explain_plan', nested)).toEqual({ query: arrives })
})

it('a request for all rows arrives as the greatest number of 32 bits', async () => {
  const body = '{"k":9223372036854775807,"vector":[]}'
  expect(await sendThrough('query', body)).toEqual({ k: maxK, vector: noVector })
  expect(await sendThrough('explain_plan', `{"query":${body}}`)).toEqual({
    query: { k: maxK, vector: noVector },
  })
})

it('a plan keeps its own members, and the branch of its query', async () => {
  const query = { k: 2, vector: noVector }
  expect(await sendThrough('explain_plan', '{"verbose":true,"branch":"b","query":{"k":2}}')).toEqual({
    verbose: true,
    query: { ...query, branch: 'b' },
  })
  expect(await sendThrough('explain_plan', '{"verbose":true,"branch":"b","k":2}')).toEqual({
    verbose: true,
    query: { ...query, branch: 'b' },
  })
  expect(await sendThrough('analyze_plan', '{"branch":"b","query":{"k":2}}')).toEqual({
    ...query,
    branch: 'b',
  })
})
