import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, call } from '../support/running-backend.ts'
import { runningProcess } from '../support/running-process.ts'
import { everyInTheLongForm } from '../../../../test/support/thorough.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

// A chain of operators is a tree as deep as the chain is long, which the engine walks recursively.
const chainOf = (terms: number, operator: string, term: string) =>
  Array(terms).fill(term).join(` ${operator} `)
const repeated = (terms: number, before: string, middle: string, after = '') =>
  before.repeat(terms) + middle + after.repeat(terms)

const sumOf = (operators: number, last = 'id') => `${'id + '.repeat(operators)}${last}`

type Location = [member: string, target: string, body: (sql: string) => unknown]
const locations: Location[] = [
  ['filter of a query', 'query', (filter) => ({ k: 1, vector: [], filter })],
  ['filter of a search', 'query', (filter) => ({ k: 1, vector: [1, 1], filter })],
  ['column of a query', 'query', (sql) => ({ k: 1, vector: [], columns: { column_aliases: { x: sql } } })],
  ['predicate of a count', 'count_rows', (predicate) => ({ predicate })],
  ['filter of a plan', 'explain_plan', (filter) => ({ query: { k: 1, vector: [], filter } })],
  ['filter of an analysis', 'analyze_plan', (filter) => ({ k: 1, vector: [], filter })],
  ['predicate of an update', 'update', (predicate) => ({ predicate, updates: [['id', 'id']] })],
  ['expression of an update', 'update', (sql) => ({ updates: [['name', `cast(${sql} as string)`]] })],
  ['new column', 'add_columns', (sql) => ({ new_columns: [{ name: `c${Date.now()}`, expression: sql }] })],
  ['predicate of a delete', 'delete', (sql) => ({ predicate: `${sql} and false` })],
]
const mergeFilters = ['when_matched_update_all', 'when_not_matched_by_source_delete']

async function catalogWithTable() {
  const { url } = await runningProcess(await temporaryFolder())
  const post = (target: string, body: unknown) => call(url, 'POST', `/v1/table/t/${target}`, body)
  expect((await post('create', streamOf(orders(3)))).status).toBe(200)
  return post
}

it('rejects a chain of 10,000 conditions in every member that holds SQL', async () => {
  const post = await catalogWithTable()
  for (const operator of ['or', 'and']) {
    const chain = chainOf(10_000, operator, 'id = 1')
    for (const [member, target, body] of everyInTheLongForm(locations, operator === 'or' ? 1 : 5)) {
      const response = await post(target, body(chain))
      expect(response, member).toEqual(errorOf('InvalidInput'))
      expect(response.json, member).toMatchObject({ error: expect.stringContaining('at most 3000') })
    }
  }
  // Query parameters have room for shorter ones.
  for (const filter of mergeFilters) {
    const target = `merge_insert?on=id&${filter}=true&${filter}_filt=id=1${'-1'.repeat(1600)}`
    const response = await post(target, streamOf(orders(1)))
    expect(response, filter).toEqual(errorOf('InvalidInput'))
    expect(response.json, filter).toMatchObject({ error: expect.stringContaining('at most 3000') })
  }
  expect(await post('count_rows', {})).toEqual(responseOf(3))
})

const bounds: [form: string, longest: string, tooLong: string][] = [
  ['comparisons with OR', chainOf(750, 'or', 'id = 1'), chainOf(751, 'or', 'id = 1')],
  ['sums', `id = ${sumOf(300)}`, `id = ${sumOf(301)}`],
  ['sums within sums', `id = ${sumOf(150, `(${sumOf(150)})`)}`, `id = ${sumOf(150, `(${sumOf(151)})`)}`],
  ['sums joined by OR', chainOf(4, 'or', `id = ${sumOf(300)}`), `id = 1 or id = ${sumOf(301)}`],
  ['concatenations', `name = ${chainOf(151, '||', "'x'")}`, `name = ${chainOf(152, '||', "'x'")}`],
]
it('accepts chains and sums up to the limit', async () => {
  const post = await catalogWithTable()
  for (const [form, longest, tooLong] of bounds) {
    expect((await post('count_rows', { predicate: longest })).status, form).toBe(200)
    expect(await post('count_rows', { predicate: tooLong }), form).toEqual(errorOf('InvalidInput'))
  }
})

it('counts 500 terms of each ordinary form, and does not count long lists as chains', async () => {
  const post = await catalogWithTable()
  const terms = [
    'id = 1',
    "name like 'order 1'",
    'id between 1 and 1',
    'lower(name) <> name or id = 1',
    'id = -1 or id + 1 = 2',
  ]
  for (const term of everyInTheLongForm(terms, 4)) {
    expect(
      await post('count_rows', { predicate: chainOf(term.includes('or i') ? 250 : 500, 'or', term) }),
      term,
    ).toEqual(responseOf(1))
  }
  expect(await post('count_rows', { predicate: chainOf(500, 'and', 'id <> 1') })).toEqual(responseOf(2))
  const numbers = Array.from({ length: 50_000 }, (_, index) => index + 1)
  const lists = [
    `id in (${numbers.join(',')})`,
    `id in (${numbers.map((number) => `-${number}`).join(',')}, 1, 2)`,
    `name in (${numbers.map((number) => `'order ${number}'`).join(', ')})`,
  ]
  for (const predicate of everyInTheLongForm(lists, 3))
    expect(await post('count_rows', { predicate })).toEqual(responseOf(2))
})

it('no form of 200,000 bytes crashes the catalog', async () => {
  const post = await catalogWithTable()
  const forms: [before: string, middle: string, after: string][] = [
    ['(', 'id = 1', ')'],
    ['not ', 'id = 1', ''],
    ['!', 'id = 1', ''],
    ['', 'id', '!'],
    ['- ', '1', ''],
    ['-', '1', ''],
    ['+ ', '1', ''],
    ['~', '1', ''],
    ['abs(', 'id', ')'],
    ['cast(', 'id', ' as int)'],
    ['case when id = 1 then true else ', 'true', ' end'],
    ['case id when ', '1', ' then 1 end'],
    ['', 'id', '::int'],
    ['', 'id', ' is null'],
    ['', '(id = 1)', ' is true'],
    ['', 'id', '[1]'],
    ['', 'id', '.a'],
    ['', 'id', ' = 1 = 1'],
    ['', 'id', ' between 1 and 2'],
    ['', 'name', " like 'x'"],
    ['', 'name', ' collate x'],
    ['', 'id', " at time zone 'UTC'"],
    ['interval ', "'1 day'", ''],
    ['prior ', 'id', ''],
    ['[', '1', ']'],
    ['{a: ', '1', '}'],
    ['array<', 'int', '>'],
    ['cast(1 as struct<a int, b ', 'int', '>'],
    ['(select ', '1', ')'],
    ['(', 'select 1', ' union select 1, 1)'],
    ['(select 1', '', ' union select 1, 1'],
    ['(values (1)', '', ' union values (1), (2), (3)'],
    ['exists (select ', '1', ')'],
    ['id in (', '1', ')'],
    ['f(a, b, ', '1', ')'],
    ['a, ', 'b', ''],
  ]
  for (const [before, middle, after] of everyInTheLongForm(forms, 4)) {
    const times = Math.floor(200_000 / (before.length + after.length))
    const response = await post('count_rows', { predicate: repeated(times, before, middle, after) })
    expect([400, 406], before + middle + after).toContain(response.status)
  }
  expect(await post('count_rows', {})).toEqual(responseOf(3))
})
