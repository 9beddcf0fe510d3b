import { beforeAll, expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, useSharedBackend } from '../support/running-backend.ts'

// The engine parses one expression and ignores the rest of the text. The catalog adds parentheses, so that a rest is an
// error; a text that closes them itself would have a rest again.
const catalog = useSharedBackend()

beforeAll(async () => {
  expect((await catalog.post('/v1/table/t/create', streamOf(orders(3)))).status).toBe(200)
})

function nested(levels: number, argument: string): string {
  return `id = ${'cast('.repeat(levels)}${argument}${' as int)'.repeat(levels)}`
}

function count(predicate: string) {
  return catalog.post('/v1/table/t/count_rows', { predicate })
}

const refused = [
  'id >> >',
  "name = 'open",
  'id = 1; DROP TABLE t',
  'id = 1 more',
  'id = 1 ORDER BY id',
  '1 = 1 UNION SELECT 1',
  '('.repeat(5_000),
  '\u0000',
  'id = 1), (id = 2',
  'id = 1) group by (id',
  'id = 1) x (',
  'id = 1); (id = 2',
  'id = 1) -- or id = 2',
  'id in (1)), ((2)',
  // Texts that are balanced in other dialects.
  String.raw`id = 1 and name <> '\'), (id = 2 or name <> '\'`,
  "id = 1 and name <> r'''a'''), (id = 2 or name <> '' '')",
  "id = 1 and name <> r'''), ('''",
  "id = 1 and name <> '' or $a$ ' $a$ = ''), (id = 2 or name <> ' $a$ $a$",
  'id = 1 @( ), (id = 2',
  'id = 1 /* ( */ ), (id = 2 /* ) */',
  'id = 1 |/* ( 2), (id = 2 */',
  'id = 1 //* ( 2), (id = 2 */',
  "id = 1 and [a'b] = 1), ([c'd]",
  '"a""b" = `c``d` and id = 1), (id = 2',
  'id = 1]), ([id = 2',
]

it.for(refused)('%s is rejected in every member that holds SQL', async (sql) => {
  const requests: [target: string, body: unknown][] = [
    ['query', { k: 3, vector: [], filter: sql }],
    ['query', { k: 3, vector: [], columns: { column_aliases: { x: sql } } }],
    ['count_rows', { predicate: sql }],
    ['explain_plan', { query: { k: 3, vector: [], filter: sql } }],
    ['analyze_plan', { k: 3, vector: [], filter: sql }],
    ['update', { predicate: sql, updates: [['id', '7']] }],
    ['update', { updates: [['id', sql]] }],
    ['add_columns', { new_columns: [{ name: 'x', expression: sql }] }],
    ['delete', { predicate: sql }],
  ]
  for (const [target, body] of requests) {
    expect(await catalog.post(`/v1/table/t/${target}`, body), target).toEqual(errorOf('InvalidInput'))
  }
  for (const filter of ['when_matched_update_all', 'when_not_matched_by_source_delete']) {
    const target = `/v1/table/t/merge_insert?on=id&${filter}=true&${filter}_filt=${encodeURIComponent(sql)}`
    expect(await catalog.post(target, streamOf(orders(3))), filter).toEqual(errorOf('InvalidInput'))
  }
  expect(await catalog.post('/v1/table/t/version/list', {})).toMatchObject({
    json: { versions: [{ version: 1 }] },
  })
})

it.for<[sql: string, rows: number]>([
  ["name = 'order 1)' or id = 1", 1],
  ["name <> 'it''s )'", 3],
  ["name = '(' or name = ''')' or id = 2", 1],
  ['(id = 1) or (id = 2)', 2],
  ['`id` = 1', 1],
  ['id = 1 -- ) or (id = 2', 1],
  ["name = '--' or id = 1", 1],
  ["name = '/*' or id = 1", 1],
  ["name = '$a$' or id = 1", 1],
  [String.raw`name = '\' or id = 1`, 1],
  ['cast(id as double) = 1.0 and embedding[1] >= 0.5e0', 1],
  ["name like 'order%' and not (id = 1)", 2],
  ["x'0aFF' = X'0aff'", 3],
  ['array_has([1, 2], id)', 2],
])('%s is parsed completely', async ([predicate, rows]) => {
  expect(await catalog.post('/v1/table/t/count_rows', { predicate })).toEqual(responseOf(rows))
})

it('limits nested calls, which the parser of the engine parses twice on each level', async () => {
  expect(await count(nested(10, '1'))).toEqual(responseOf(1))
  expect(await count(nested(10, '1 2'))).toEqual(errorOf('InvalidInput'))
  for (const levels of [11, 40]) {
    const refused = await count(nested(levels, '1 2'))
    expect(refused).toEqual(errorOf('InvalidInput'))
    expect(refused.json).toMatchObject({ error: expect.stringContaining('at most 10') })
  }
})

it('parses a long error of the engine quickly', async () => {
  const started = performance.now()
  const predicate = `id = 1 ${'x'.repeat(1_000_000)} y`
  expect(await catalog.post('/v1/table/t/count_rows', { predicate })).toEqual(errorOf('InvalidInput'))
  expect(performance.now() - started).toBeLessThan(10_000)
})
