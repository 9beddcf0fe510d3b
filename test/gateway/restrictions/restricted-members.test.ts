import { expect, it } from 'vitest'
import { CatalogError } from '../../../src/catalog-api/catalog-error.ts'
import { parseTarget } from '../../../src/catalog-api/request-target.ts'
import { changeMembers, restrictRequest } from '../../../src/gateway/restrictions/restrict-request.ts'
import type { CallerRestriction } from '../../../src/policy/restrictions/restriction.ts'

const restriction: CallerRestriction = {
  columns: new Map([
    ['id', 'number'],
    ['name', 'text'],
    ['person.city', 'text'],
    ['v', 'other'],
  ]),
  rows: "(`region` = 'EU')",
  parts: [],
}
const allRows: CallerRestriction = { ...restriction, rows: undefined }
const all = ['id', 'name', 'person.city', 'v']
const rows = "(`region` = 'EU')"

interface Options {
  readonly restriction?: CallerRestriction
  readonly isLancedb?: boolean
  readonly parameters?: ReadonlyMap<string, string>
}

/** Returns the members that are sent and the columns that the response may have, or the message of the error. */
function restrict(action: string, body: string | object, options: Options = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const matched = parseTarget('POST', `/v1/table/crm$customers/${action}`)
  const { restriction: applied = restriction, isLancedb = false, ...parameters } = options
  const route = { ...matched, ...parameters }
  const members = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
  const payload =
    text === '' ? ({ form: 'none' } as const) : { form: 'bytes' as const, bytes: Buffer.from(text) }
  try {
    const sent = restrictRequest({ route, head: { isLancedb } }, members, payload, applied)
    return {
      sent: sent.payload.form === 'bytes' ? sent.payload.bytes.toString() : sent.payload.form,
      columns: sent.columns && [...sent.columns],
    }
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    return `${error.status} ${error.message.replace('you may read a part of this table only: ', '')}`
  }
}

const search = { vector: [1], vector_column: 'v' }
const searched = { ...search, filter: rows, prefilter: true, bypass_vector_index: true }
const id = { columns: ['id'] }
const allColumns = { column_names: all }

function expectQuery(body: string | object, sent: object, columns: readonly string[], options?: Options) {
  const restricted = restrict('query', body, options)
  expect(restricted).toMatchObject({ columns })
  expect(typeof restricted === 'object' && JSON.parse(restricted.sent)).toEqual(sent)
}

it.each<[what: string, body: object]>([
  ['an id and a context', { id: ['crm', 'customers'], context: { a: 'b' } }],
  [
    'absent members',
    { order_by: null, vector_column: null, version: null, branch: null, search_effort: null },
  ],
  ['the main branch', { branch: 'main' }],
  ['an empty branch', { branch: '' }],
  ['a page of rows', { k: 10, offset: 20 }],
  ['no row ids', { with_row_id: false }],
  ['no vector', { vector: [], prefilter: false }],
  ['vectors without numbers', { vector: { single_vector: [], multi_vector: [] } }],
  ['an order', { order_by: [{ column_name: 'person.city' }, { column_name: 'id' }] }],
])('a query with %s', (_, body) => {
  expectQuery({ ...body, ...id }, { ...body, ...id, filter: rows, prefilter: true }, ['id'])
})

it.each<[columns: unknown, sent: unknown, names: readonly string[]]>([
  [undefined, allColumns, all],
  [null, allColumns, all],
  [{ column_names: ['person.city'] }, { column_names: ['person.city'] }, ['person.city']],
  [{ column_names: ['id'], column_aliases: null }, { column_names: ['id'] }, ['id']],
  [{ column_names: [] }, allColumns, all],
  [{ column_names: null, column_aliases: null }, allColumns, all],
  [{}, allColumns, all],
  [
    ['id', 'name'],
    ['id', 'name'],
    ['id', 'name'],
  ],
])('a query of the columns %j', (columns, sent, names) => {
  expectQuery({ columns }, { filter: rows, prefilter: true, columns: sent }, names)
})

it('a query without a body', () => {
  expectQuery('', { filter: rows, prefilter: true, columns: allColumns }, all)
  const none = { ...restriction, columns: new Map() }
  expect(restrict('query', '', { restriction: none })).toBe('400 no column of the table may be read')
})

const everyColumn = { columns: { column_names: [...all, '_distance'] } }
const distance = { columns: ['_distance'] }
const probes = { nprobes: 20, minimum_nprobes: 1, maximum_nprobes: 20, ef: 64, refine_factor: 2 }
const tuned = { ...probes, lower_bound: 0, upper_bound: 9, distance_type: 'l2', offset: 1 }

it.each<[what: string, body: object, sent: object, columns: readonly string[]]>([
  ['a column', {}, {}, ['id', '_distance']],
  ['all columns', { columns: undefined }, everyColumn, [...all, '_distance']],
  ['the distance', distance, distance, ['_distance']],
  [
    'a column, by one of several forms',
    { vector: { single_vector: [1] } },
    { vector: { single_vector: [1] } },
    ['id', '_distance'],
  ],
  [
    'a column, by several vectors',
    { vector: { multi_vector: [[1], [2]] } },
    { vector: { multi_vector: [[1], [2]] } },
    ['id', '_distance', 'query_index'],
  ],
  [
    'a column, by several vectors in a list',
    { vector: [[1], [2]] },
    { vector: [[1], [2]] },
    ['id', '_distance', 'query_index'],
  ],
  ['a column, without a filter of its own', { prefilter: false }, {}, ['id', '_distance']],
  ['a column, with every option', tuned, tuned, ['id', '_distance']],
  ['a column, by an index', { fast_search: true, bypass_vector_index: false }, {}, ['id', '_distance']],
])('a search for %s', (_, body, sent, columns) => {
  expectQuery({ ...search, ...id, ...body }, { ...searched, ...id, ...sent }, columns)
})

const red = { terms: 'red', column: 'name' }
const allTexts = { columns: { column_names: [...all, '_score'] } }

it.each<[what: string, body: object, changes: object, columns: readonly string[]]>([
  ['nothing', {}, { columns: allColumns }, all],
  ['an empty filter', { filter: ' ' }, { filter: undefined, columns: allColumns }, all],
  ['a filter', { filter: 'id=1', ...id }, { filter: '(`id` = 1)', prefilter: true }, ['id']],
  [
    'a search',
    { ...search, ...id, fast_search: true, prefilter: false },
    { fast_search: undefined },
    ['id', '_distance'],
  ],
  [
    'a search with a filter',
    { ...search, ...id, filter: 'id=1' },
    { filter: '(`id` = 1)', prefilter: true },
    ['id', '_distance'],
  ],
  [
    'words in named columns',
    { full_text_query: { string_query: { query: 'red', columns: ['name', 'person.city'] } }, k: 5 },
    allTexts,
    [...all, '_score'],
  ],
  [
    'words in named columns, without a wrapper',
    { full_text_query: { query: 'red', columns: ['name'] }, columns: ['_score', 'id'] },
    {},
    ['_score', 'id'],
  ],
  [
    'a structured query of words',
    {
      full_text_query: {
        structured_query: {
          query: {
            boolean: {
              must: [{ match: red }],
              should: [{ multi_match: { query: 'red', columns: ['name', 'person.city'] } }],
              must_not: [{ boost: { positive: { match: red }, negative: { phrase: red } } }],
            },
          },
        },
      },
      columns: ['id', '_score'],
      filter: 'id > 1',
    },
    { filter: '(`id` > 1)', prefilter: true },
    ['id', '_score'],
  ],
])('a query of all rows with %s', (_, body, changes, columns) => {
  expectQuery(body, { ...body, ...changes }, columns, { restriction: allRows })
})

const noWords = '"full_text_query" has no words'
const noColumn = '"full_text_query" names no column'
const hiddenColumn = 'there is no column "ssn"'
const ofHidden = { terms: 'red', column: 'ssn' }

it.each<[what: string, query: object, message: string]>([
  ['no words', { structured_query: { query: { boolean: { must: [], should: [], must_not: [] } } } }, noWords],
  ['no column', { string_query: { query: 'red' } }, noColumn],
  ['a hidden column', { string_query: { query: 'red', columns: ['ssn'] } }, hiddenColumn],
  ['a hidden column among others', { query: 'red', columns: ['name', 'ssn'] }, hiddenColumn],
  ['a hidden column of a phrase', { query: { phrase: ofHidden } }, hiddenColumn],
  [
    'a hidden column of a part',
    { query: { boost: { positive: { match: red }, negative: { match: ofHidden } } } },
    hiddenColumn,
  ],
  [
    'a hidden column of several matches',
    { query: { multi_match: { match_queries: [red, ofHidden] } } },
    hiddenColumn,
  ],
  [
    'hidden columns beside several matches',
    { query: { multi_match: { match_queries: [red], query: 'red', columns: ['ssn'] } } },
    hiddenColumn,
  ],
  [
    'a match without a column among others',
    { query: { boolean: { must: [{ match: red }], must_not: [{ match: { terms: 'red' } }], should: [] } } },
    noColumn,
  ],
])('a full-text query of %s is refused', (_, query, message) => {
  expect(restrict('query', { full_text_query: query }, { restriction: allRows })).toContain(`400 ${message}`)
})

it('columns are added as the client of LanceDB sends them', () => {
  expect(restrict('query', {}, { isLancedb: true, restriction: allRows })).toEqual({
    sent: JSON.stringify({ columns: all }),
    columns: all,
  })
})

it.each<[body: string | object, sent: string]>([
  ['', `{"predicate":${JSON.stringify(rows)}}`],
  [{ predicate: '' }, `{"predicate":${JSON.stringify(rows)}}`],
  [{ predicate: 'id=1' }, `{"predicate":${JSON.stringify(`(${rows} AND (\`id\` = 1))`)}}`],
  [
    '{"context":{"a":"b"},"id":["a"]}',
    `{"predicate":${JSON.stringify(rows)},"context":{"a":"b"},"id":["a"]}`,
  ],
])('a count with %o', (body, sent) => {
  expect(restrict('count_rows', body)).toEqual({ sent, columns: undefined })
})

it('a count of all rows is sent without a predicate', () => {
  expect(restrict('count_rows', { predicate: ' ' }, { restriction: allRows })).toMatchObject({ sent: '{}' })
})

it.each(['describe', 'exists'])('%s is sent as it is', (action) => {
  const body = '{"id" : ["a"],"with_table_uri":true,"load_detailed_metadata":true,"check_declared":true}'
  expect(restrict(action, body)).toMatchObject({ sent: body })
  expect(restrict(action, '')).toMatchObject({ sent: 'none' })
})

const newestOnly = 'only its newest version on the branch main; omit "version", "branch" and "tag"'
const noVectorColumn = '"vector_column" is missing; expected the column that is searched'
const noNames = '"columns" is no list of names; expressions are not supported'

it.each<[action: string, body: object, message: string]>([
  ['count_rows', { filter: 'id=1' }, '"filter" is not supported; omit it'],
  ['count_rows', { predicate: {} }, '"predicate" is no text'],
  [
    'count_rows',
    { predicate: 'ssn=1' },
    '"predicate": there is no column "ssn" (character 1); supported are',
  ],
  ['count_rows', { branch: 'x' }, newestOnly],
  ['count_rows', { version: 3 }, newestOnly],
  ['describe', { branch: 'x' }, newestOnly],
  ['describe', { tag: 'old' }, newestOnly],
  ['describe', { as_of: 1 }, '"as_of" is not supported; omit it'],
  ['exists', { as_of: 1 }, '"as_of" is not supported; omit it'],
  ['stats', {}, 'GetTableStats is not supported'],
  ['query', { unknown: 1 }, '"unknown" is not supported; omit it'],
  ['query', { with_row_id: true }, '"with_row_id", as hybrid searches have it, is not supported'],
  ['query', { version: 0 }, newestOnly],
  ['query', { branch: 'Main' }, newestOnly],
  ['query', { vector: [1] }, noVectorColumn],
  ['query', { vector_column: 'ssn' }, 'there is no column "ssn"'],
  ['query', { vector_column: 7 }, 'there is no column "7"'],
  [
    'query',
    { ...search, filter: 'id=1', prefilter: false },
    '"prefilter" is false: a filter after the search is not supported; omit it',
  ],
  ['query', { order_by: 'id' }, '"order_by" is no list'],
  ['query', { order_by: [{ column_name: 'id' }, { column_name: 'ssn' }] }, 'there is no column "ssn"'],
  ['query', { order_by: [{}] }, 'there is no column "undefined"'],
  ['query', { filter: 7 }, '"filter" is no text'],
  ['query', { filter: "name = 'x' -- " }, '"filter": expected the end'],
  ['query', { filter: 'true) or (true' }, '"filter": expected the end'],
  ['query', { filter: 'id = $principal.name' }, '"filter": expected a literal'],
  [
    'query',
    { full_text_query: { string_query: { query: 'a', columns: ['name'] } } },
    '"full_text_query" is not supported, because scores depend on all rows',
  ],
  ['query', { ...search, columns: ['_score'] }, 'there is no column "_score"'],
])('%s with %o is refused', (action, body, message) => {
  expect(restrict(action, body)).toContain(`400 ${message}`)
})

it.each<[columns: unknown, message: string]>([
  [['id', 'ssn'], 'there is no column "ssn"'],
  [['person'], 'there is no column "person"'],
  [['_rowid'], 'there is no column "_rowid"'],
  [['_distance'], 'there is no column "_distance"'],
  [{ column_names: ['id'], column_aliases: { a: 'id' } }, noNames],
  [{ column_names: 'id' }, noNames],
  [{ column_aliases: { a: 'ssn' } }, noNames],
  [[['a', 'ssn']], noNames],
  [{ a: 'ssn' }, noNames],
])('a query of the columns %o is refused', (columns, message) => {
  expect(restrict('query', { columns })).toContain(`400 ${message}`)
})

it.each([
  ['query', 'the parameter "version" is not supported; omit it'],
  ['count_rows', 'the parameter "version" is not supported; omit it'],
  ['describe', newestOnly],
])('%s with a version in its query is refused', (action, message) => {
  const parameters = new Map([['version', '1']])
  expect(restrict(action, {}, { parameters })).toBe(`400 ${message}`)
})

const changes = new Map<string, unknown>([
  ['filter', 'a'],
  ['columns', undefined],
])

it.each([
  ['', '{"filter":"a"}'],
  ['null', '{"filter":"a"}'],
  [' null\n', '{"filter":"a"}'],
  ['{}', '{"filter":"a"}'],
  [' { } ', ' {"filter":"a" } '],
  ['{"k":18446744073709551615}', '{"filter":"a","k":18446744073709551615}'],
  ['{"filter":"b","columns":["c"],"x":{"filter":"d"}}', '{"filter":"a","x":{"filter":"d"}}'],
  ['{"fil\\u0074er":"b","colum\\u006es":null}', '{"filter":"a"}'],
])('the body %j becomes %j', (body, changed) => {
  expect(changeMembers(Buffer.from(body), changes).toString()).toBe(changed)
})

it('an incomplete body is refused', () => {
  expect(() => changeMembers(Buffer.from('{"k":1'), changes)).toThrow(/JSON/)
})
