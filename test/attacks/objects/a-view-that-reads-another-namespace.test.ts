import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// `owner` may do everything in `sandbox`, and nothing elsewhere. The query of a view, or code in a column, may read any
// table: a rule of one namespace cannot allow that.
const attacked = attackedGateway({
  users: ['owner', 'trusted', 'partial'],
  policies: [
    policyOf(['sandbox'], [ruleFor(['owner', 'trusted', 'partial'])]),
    policyOf(
      [],
      [ruleFor(['trusted'], ['ReadAnyTable']), ruleFor(['partial'], ['ReadAnyTable'], { tables: ['view*'] })],
    ),
  ],
})

const virtual = { input_columns: ['a'], image: 'img', udf: 'AAAA', udf_name: 'f', udf_version: '1' }
const view = { kind: 'query', source_query: 'SELECT * FROM other$table', output_schema: 'AAAA' }
type Case = readonly [label: string, target: string, body: object, because: string]
const reading: readonly Case[] = [
  ['the query of a view', '/v1/materialized_view/sandbox$view/create', view, 'what it reads'],
  ['a view without a word of it', '/v1/materialized_view/sandbox$view/create', {}, 'what it reads'],
  [
    'the query of a view without rows',
    '/v1/view/sandbox$view/create',
    { query: 'SELECT 1' },
    'what it reads',
  ],
  [
    'a clone of the dataset at a location',
    '/v1/table/sandbox$copy/clone',
    { source_location: 's3://lake/other/table.lance', is_shallow: true },
    'what it reads',
  ],
  ['the code of a function', '/v1/function/sandbox$view/create', { artifact: {} }, 'what it reads'],
  [
    'a new column with code',
    '/v1/table/sandbox$t/add_columns',
    {
      new_columns: [
        { name: 'a', expression: '1' },
        { name: 'b', virtual_column: virtual },
      ],
    },
    'virtual_column',
  ],
  [
    'other code for a column',
    '/v1/table/sandbox$t/alter_columns',
    { alterations: [{ path: 'a', virtual_column: { udf: 'AAAA' } }] },
    'virtual_column',
  ],
]

it.each(reading)('%s requires ReadAnyTable at the root', async (_label, target, body, because) => {
  for (const as of ['owner', 'partial']) {
    await attacked.expectDenied({ as, target, body }, `not allowed ReadAnyTable \\(${because}\\) on the root`)
  }
})

it.each(reading)('%s is allowed with it, and recorded', async (_label, target, body) => {
  expect(await attacked.send({ as: 'trusted', target, body })).toMatchObject({ status: 200 })
  attacked.upstream.requests.length = 0
  const intents = await attacked.gateway.recorded('intent')
  expect(intents.at(-1)).toMatchObject({
    objects: expect.arrayContaining([expect.objectContaining({ operation: 'ReadAnyTable', id: [] })]),
  })
})

it('code in another spelling is refused', async () => {
  const body = { new_columns: [{ name: 'b', Virtual_Column: virtual }] }
  await attacked.expectInvalid(
    { as: 'trusted', target: '/v1/table/sandbox$t/add_columns', body },
    'is ambiguous; write "virtual_column"',
  )
})

it.each<[label: string, target: string, body: object]>([
  [
    'a column by an expression',
    '/v1/table/sandbox$t/add_columns',
    { new_columns: [{ name: 'b', expression: '1' }] },
  ],
  [
    'a column without code',
    '/v1/table/sandbox$t/add_columns',
    { new_columns: [{ name: 'b', expression: '1', virtual_column: null }] },
  ],
  ['a renamed column', '/v1/table/sandbox$t/alter_columns', { alterations: [{ path: 'a', rename: 'b' }] }],
  ['a refresh of a view that is there', '/v1/materialized_view/sandbox$view/refresh', {}],
])('%s requires no additional permission', async (_label, target, body) => {
  await attacked.expectForwarded({ as: 'owner', target, body })
})
