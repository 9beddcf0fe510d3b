import { expect, it } from 'vitest'
import { CatalogError } from '../../../src/catalog-api/catalog-error.ts'
import { parseTarget } from '../../../src/catalog-api/request-target.ts'
import { noBody } from '../../../src/gateway/downstream.ts'
import { restrictRequest } from '../../../src/gateway/restrictions/restrict-request.ts'
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
  readonly extraParameters?: ReadonlyMap<string, string>
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

it.each<[what: string, body: string | object, sent: object, columns: readonly string[]]>([
  ['no body', '', { filter: rows, prefilter: true, columns: { column_names: all } }, all],
  [
    'an id and a context',
    { id: ['crm', 'customers'], context: { a: 'b' }, columns: ['id'] },
    { id: ['crm', 'customers'], context: { a: 'b' }, filter: rows, prefilter: true, columns: ['id'] },
    ['id'],
  ],
  ['nothing', {}, { filter: rows, prefilter: true, columns: { column_names: all } }, all],
  [
    'absent members',
    {
      columns: null,
      filter: null,
      order_by: null,
      vector_column: null,
      version: null,
      branch: null,
      search_effort: null,
    },
    {
      order_by: null,
      vector_column: null,
      version: null,
      branch: null,
      search_effort: null,
      filter: rows,
      prefilter: true,
      columns: { column_names: all },
    },
    all,
  ],
  [
    'the main branch',
    { branch: 'main', columns: ['id'] },
    { branch: 'main', filter: rows, prefilter: true, columns: ['id'] },
    ['id'],
  ],
  [
    'an empty branch',
    { branch: '', columns: ['id'] },
    { branch: '', filter: rows, prefilter: true, columns: ['id'] },
    ['id'],
  ],
  [
    'a page of rows',
    { k: 10, offset: 20, columns: ['id'] },
    { k: 10, offset: 20, filter: rows, prefilter: true, columns: ['id'] },
    ['id'],
  ],
  [
    'no row ids',
    { with_row_id: false, columns: ['id'] },
    { with_row_id: false, filter: rows, prefilter: true, columns: ['id'] },
    ['id'],
  ],
  [
    'no vector',
    { vector: [], prefilter: false, columns: ['id'] },
    { vector: [], filter: rows, prefilter: true, columns: ['id'] },
    ['id'],
  ],
  [
    'vectors without numbers',
    { vector: { single_vector: [], multi_vector: [] }, columns: ['id'] },
    { vector: { single_vector: [], multi_vector: [] }, filter: rows, prefilter: true, columns: ['id'] },
    ['id'],
  ],
  [
    'an order',
    { order_by: [{ column_name: 'person.city' }, { column_name: 'id' }], columns: ['id'] },
    {
      order_by: [{ column_name: 'person.city' }, { column_name: 'id' }],
      filter: rows,
      prefilter: true,
      columns: ['id'],
    },
    ['id'],
  ],
  [
    'names in a member',
    { columns: { column_names: ['person.city'] } },
    { filter: rows, prefilter: true, columns: { column_names: ['person.city'] } },
    ['person.city'],
  ],
  [
    'names and absent expressions',
    { columns: { column_names: ['id'], column_aliases: null } },
    { filter: rows, prefilter: true, columns: { column_names: ['id'] } },
    ['id'],
  ],
  [
    'no names in a member',
    { columns: { column_names: [] } },
    { filter: rows, prefilter: true, columns: { column_names: all } },
    all,
  ],
  [
    'absent members of columns',
    { columns: { column_names: null, column_aliases: null } },
    { filter: rows, prefilter: true, columns: { column_names: all } },
    all,
  ],
  [
    'an empty map of expressions',
    { columns: {} },
    { filter: rows, prefilter: true, columns: { column_names: all } },
    all,
  ],
  [
    'expressions in a member',
    { columns: { column_names: null, column_aliases: { a: 'ID'.toLowerCase() } } },
    { filter: rows, prefilter: true, columns: { column_aliases: { a: '`id`' } } },
    ['a'],
  ],
  [
    'expressions',
    { columns: { a: 'lower( name )', B_2: 'person.city' } },
    { filter: rows, prefilter: true, columns: { a: 'lower(`name`)', B_2: '`person`.`city`' } },
    ['a', 'B_2'],
  ],
  [
    'pairs',
    {
      columns: [
        ['a', 'upper(name)'],
        ['b', 'id'],
      ],
    },
    {
      filter: rows,
      prefilter: true,
      columns: [
        ['a', 'upper(`name`)'],
        ['b', '`id`'],
      ],
    },
    ['a', 'b'],
  ],
  ['a search', { ...search, columns: ['id'] }, { ...searched, columns: ['id'] }, ['id', '_distance']],
  [
    'a search for all columns',
    search,
    { ...searched, columns: { column_names: [...all, '_distance'] } },
    [...all, '_distance'],
  ],
  [
    'a search for the distance',
    { ...search, columns: ['_distance'] },
    { ...searched, columns: ['_distance'] },
    ['_distance'],
  ],
  [
    'a search for the distance by another name',
    { ...search, columns: { d: '_distance' } },
    { ...searched, columns: { d: '_distance' } },
    ['d', '_distance'],
  ],
  [
    'a search by one of several forms',
    { ...search, vector: { single_vector: [1] }, columns: ['id'] },
    { ...searched, vector: { single_vector: [1] }, columns: ['id'] },
    ['id', '_distance'],
  ],
  [
    'a search by several vectors',
    { ...search, vector: { multi_vector: [[1], [2]] }, columns: ['id'] },
    { ...searched, vector: { multi_vector: [[1], [2]] }, columns: ['id'] },
    ['id', '_distance', 'query_index'],
  ],
  [
    'a search by one vector in a list',
    { ...search, vector: { multi_vector: [[1]] }, columns: ['id'] },
    { ...searched, vector: { multi_vector: [[1]] }, columns: ['id'] },
    ['id', '_distance'],
  ],
  [
    'a search without a filter of its own',
    { ...search, prefilter: false, columns: ['id'] },
    { ...searched, columns: ['id'] },
    ['id', '_distance'],
  ],
  [
    'a search by an index',
    { ...search, fast_search: true, bypass_vector_index: false, prefilter: true, columns: ['id'] },
    { ...searched, columns: ['id'] },
    ['id', '_distance'],
  ],
])('a query with %s', (_, body, sent, columns) => {
  const restricted = restrict('query', body)
  expect(restricted).toMatchObject({ columns })
  expect(typeof restricted === 'object' && JSON.parse(restricted.sent)).toEqual(sent)
})

it.each<[what: string, body: object, sent: object]>([
  ['nothing', {}, { columns: { column_names: all } }],
  ['an empty filter', { filter: ' ' }, { columns: { column_names: all } }],
  [
    'a filter',
    { filter: 'id=1', columns: ['id'] },
    { filter: '(`id` = 1)', prefilter: true, columns: ['id'] },
  ],
  [
    'a search',
    { ...search, fast_search: true, prefilter: false, columns: ['id'] },
    { ...search, prefilter: false, columns: ['id'] },
  ],
  [
    'a search with a filter',
    { ...search, filter: 'id=1', columns: ['id'] },
    { ...search, filter: '(`id` = 1)', prefilter: true, columns: ['id'] },
  ],
])('a query of all rows with %s', (_, body, sent) => {
  const restricted = restrict('query', body, { restriction: allRows })
  expect(typeof restricted === 'object' && JSON.parse(restricted.sent)).toEqual(sent)
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
  expect(restrict(action, '{"id" : ["a"]}')).toMatchObject({ sent: '{"id" : ["a"]}' })
  expect(restrict(action, '')).toMatchObject({ sent: 'none' })
})

it.each<[action: string, body: object, message: string]>([
  ['query', { unknown: 1 }, '"unknown" is not supported; omit it'],
  ['query', { with_row_id: true }, '"with_row_id" is not supported; omit it'],
  ['query', { version: 0 }, 'only its newest version on the branch main; omit "version", "branch" and "tag"'],
  [
    'query',
    { branch: 'Main' },
    'only its newest version on the branch main; omit "version", "branch" and "tag"',
  ],
  ['query', { vector: [1] }, '"vector_column" is missing; expected the column that is searched'],
  [
    'query',
    { vector: { single_vector: [1] } },
    '"vector_column" is missing; expected the column that is searched',
  ],
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
  ['query', { order_by: ['id'] }, 'there is no column "undefined"'],
  ['query', { filter: 7 }, '"filter" is no text'],
  ['query', { columns: ['id', 'ssn'] }, 'there is no column "ssn"'],
  ['query', { columns: ['ID'] }, 'there is no column "ID"'],
  ['query', { columns: ['*'] }, 'there is no column "*"'],
  ['query', { columns: ['person'] }, 'there is no column "person"'],
  ['query', { columns: ['_rowid'] }, 'there is no column "_rowid"'],
  ['query', { filter: "name = 'x' -- " }, '"filter": expected the end'],
  ['query', { filter: 'true) or (true' }, '"filter": expected the end'],
  ['query', { filter: 'id = $principal.name' }, '"filter": expected a literal'],
  [
    'query',
    { full_text_query: { string_query: { query: 'a', columns: ['name'] } } },
    '"full_text_query" is not supported, because scores depend on all rows',
  ],
  ['query', { columns: ['_distance'] }, 'there is no column "_distance"'],
  [
    'query',
    { columns: { d: '_distance' } },
    '"d": there is no column "_distance" (character 1); supported are',
  ],
  ['query', { ...search, columns: ['_score'] }, 'there is no column "_score"'],
  ['query', { columns: { column_names: ['ssn'] } }, 'there is no column "ssn"'],
  ['query', { columns: { column_names: ['id'], column_aliases: { a: 'id' } } }, '"columns" is neither'],
  ['query', { columns: { column_names: ['id'], other: 'id' } }, '"columns" is neither'],
  ['query', { columns: { column_aliases: { a: 'id' }, other: 'id' } }, '"columns" is neither'],
  ['query', { columns: { column_names: null, other: 'id' } }, '"columns" is neither'],
  ['query', { columns: { column_names: 'id' } }, '"columns" is neither'],
  ['query', { columns: { column_aliases: ['id'] } }, '"columns" is neither'],
  ['query', { columns: 'id' }, '"columns" is neither'],
  ['query', { columns: [['a', 'id'], ['b']] }, '"columns" is neither'],
  ['query', { columns: [['a', 'id', 'ssn']] }, '"columns" is neither'],
  ['query', { columns: [['a', 7]] }, '"columns" is neither'],
  ['query', { columns: { a: 7 } }, '"a" is no text'],
  ['query', { columns: { '1a': 'id' } }, 'the name "1a" is not supported; expected letters, digits and "_"'],
  [
    'query',
    { columns: { 'a-b': 'id' } },
    'the name "a-b" is not supported; expected letters, digits and "_"',
  ],
  ['query', { columns: { ['a'.repeat(257)]: 'id' } }, 'the name "aaa'],
  ['query', { columns: { _a: 'id' } }, 'the name "_a" is not supported; expected letters, digits and "_"'],
  [
    'query',
    { columns: { a: 'id = 1' } },
    '"a": expected the end, AND or OR, found "=" (character 4); supported are',
  ],
  ['query', { columns: { a: "'x'" } }, '"a": expected a name, found "x" (character 1); supported are'],
  ['query', { columns: { a: `${'lower('.repeat(9)}name${')'.repeat(9)}` } }, '"a": it has 18 levels'],
  ['count_rows', { filter: 'id=1' }, '"filter" is not supported; omit it'],
  ['count_rows', { predicate: {} }, '"predicate" is no text'],
  [
    'count_rows',
    { predicate: 'ssn=1' },
    '"predicate": there is no column "ssn" (character 1); supported are',
  ],
  [
    'count_rows',
    { branch: 'x' },
    'only its newest version on the branch main; omit "version", "branch" and "tag"',
  ],
  [
    'describe',
    { branch: 'x' },
    'only its newest version on the branch main; omit "version", "branch" and "tag"',
  ],
  [
    'describe',
    { tag: 'old' },
    'only its newest version on the branch main; omit "version", "branch" and "tag"',
  ],
  ['describe', { tag: '' }, 'only its newest version on the branch main; omit "version", "branch" and "tag"'],
  ['describe', { as_of: 1 }, '"as_of" is not supported; omit it'],
  ['exists', { as_of: 1 }, '"as_of" is not supported; omit it'],
  ['stats', {}, 'GetTableStats is not supported'],
])('%s with %o is refused', (action, body, message) => {
  expect(restrict(action, body)).toContain(`400 ${message}`)
})

it('a name that a query gives may have 256 characters', () => {
  const alias = 'a'.repeat(256)
  expect(restrict('query', { columns: { [alias]: 'id' } })).toMatchObject({ columns: [alias] })
})

it.each([
  ['query', 'the parameter "version" is not supported; omit it'],
  ['count_rows', 'the parameter "version" is not supported; omit it'],
  ['describe', 'only its newest version on the branch main; omit "version", "branch" and "tag"'],
])('%s with a version in its query is refused', (action, message) => {
  const parameters = new Map([['version', '1']])
  expect(restrict(action, {}, { parameters })).toBe(`400 ${message}`)
})

it.each([
  ['query', 'the parameter "as_of" is not supported; omit it'],
  ['count_rows', 'the parameter "as_of" is not supported; omit it'],
  ['describe', '"as_of" is not supported; omit it'],
  ['exists', '"as_of" is not supported; omit it'],
])('%s with a query parameter that the upstream allows is refused', (action, message) => {
  const extraParameters = new Map([['as_of', '1']])
  expect(restrict(action, {}, { extraParameters })).toBe(`400 ${message}`)
})

it('a body that is not read whole is refused', async () => {
  const route = parseTarget('POST', '/v1/table/crm$customers/query')
  const body = await noBody.upload({ chunk: () => undefined })
  const payload = { form: 'stream', body, length: undefined } as const
  expect(() => restrictRequest({ route, head: { isLancedb: false } }, {}, payload, restriction)).toThrow(
    /: the body is too large$/,
  )
})
