import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CatalogError, type ErrorName } from '../../../catalog-api/catalog-error.ts'
import { parseSelect, type SelectQuery } from '../../engine/sql/parse-select.ts'

const all: SelectQuery = { source: ['t'], items: ['*'], filter: undefined, limit: undefined }
const parsed: readonly (readonly [sql: string, query: SelectQuery])[] = [
  ['SELECT * FROM "t"', all],
  ['select * from t;', all],
  ['SELECT * FROM `a`."b c".t', { ...all, source: ['a', 'b c', 't'] }],
  ['SELECT * FROM "it""s"', { ...all, source: ['it"s'] }],
  [
    'SELECT `id` AS "id", upper(name) AS "n2" FROM "t" WHERE id > 3 LIMIT 7',
    {
      source: ['t'],
      items: [
        { name: 'id', expression: '`id`' },
        { name: 'n2', expression: 'upper(name)' },
      ],
      filter: 'id > 3',
      limit: 7,
    },
  ],
  [
    'SELECT id, `Odd Name`, cast(id AS string) AS text, *\nFROM t -- all of them',
    {
      ...all,
      items: [
        { name: 'id', expression: '`id`' },
        { name: 'Odd Name', expression: '`Odd Name`' },
        { name: 'text', expression: 'cast(id AS string)' },
        '*',
      ],
    },
  ],
  [
    "SELECT 'from' AS a, (b + 1) AS c FROM t WHERE a = 'LIMIT 3' AND `limit` IN (1, 2)",
    {
      ...all,
      items: [
        { name: 'a', expression: "'from'" },
        { name: 'c', expression: '(b + 1)' },
      ],
      filter: "a = 'LIMIT 3' AND `limit` IN (1, 2)",
    },
  ],
]

it('reads the source, the columns, the filter and the limit of a query', () => {
  for (const [sql, query] of parsed) expect(parseSelect(sql), sql).toEqual(query)
})

const refused: readonly (readonly [sql: string, error: ErrorName])[] = [
  ['', 'InvalidInput'],
  ['DROP TABLE t', 'InvalidInput'],
  ['SELECT *', 'InvalidInput'],
  ['SELECT FROM t', 'InvalidInput'],
  ['SELECT id, FROM t', 'InvalidInput'],
  ['SELECT * FROM', 'InvalidInput'],
  ['SELECT id + 1 FROM t', 'InvalidInput'],
  ['SELECT "id" FROM t', 'InvalidInput'],
  ['SELECT "id" + 1 AS x FROM t', 'InvalidInput'],
  ["SELECT * FROM 't'", 'InvalidInput'],
  ["SELECT 1 AS 'x' FROM t", 'InvalidInput'],
  ['SELECT * FROM t WHERE', 'InvalidInput'],
  ['SELECT * FROM t LIMIT 0', 'InvalidInput'],
  ['SELECT * FROM t LIMIT -1', 'InvalidInput'],
  ['SELECT * FROM t LIMIT 1 + 1', 'InvalidInput'],
  ["SELECT * FROM t WHERE a = 'x", 'InvalidInput'],
  ['SELECT * FROM t /* all */', 'Unsupported'],
  ['SELECT * FROM t; DROP TABLE t', 'Unsupported'],
  ['SELECT * FROM t, u', 'Unsupported'],
  ['SELECT * FROM t u', 'Unsupported'],
  ['SELECT * FROM t JOIN u ON t.id = u.id', 'Unsupported'],
  ['SELECT * FROM f(t)', 'Unsupported'],
  ['SELECT * FROM (SELECT * FROM t)', 'Unsupported'],
  ['SELECT DISTINCT id FROM t', 'Unsupported'],
  ['SELECT id FROM t GROUP BY id', 'Unsupported'],
  ['SELECT id FROM t ORDER BY id', 'Unsupported'],
  ['SELECT id FROM t LIMIT 1 OFFSET 1', 'Unsupported'],
  ['SELECT id FROM t UNION SELECT id FROM u', 'Unsupported'],
  ['SELECT id FROM t WHERE id IN (SELECT id FROM u)', 'Unsupported'],
  ['SELECT row_number() OVER () AS n FROM t', 'Unsupported'],
  ['WITH u AS (SELECT 1) SELECT * FROM u', 'Unsupported'],
]

it('refuses any other query', () => {
  for (const [sql, error] of refused) {
    const refusal = expect(() => parseSelect(sql), sql)
    refusal.toThrow(CatalogError)
    refusal.toThrow(expect.objectContaining({ kind: error }))
  }
})

const name = fc.oneof(
  fc.constantFrom('a', 'From', 'limit', 'it"s', 'b`c', 'x y', "o'k", 'ä'),
  fc.string({ minLength: 1 }),
)
const text = fc.string().map((value) => `'${value.replaceAll("'", "''")}'`)
const operand = fc.oneof(
  text,
  fc.nat().map(String),
  name.map((column) => `\`${column.replaceAll('`', '``')}\``),
)
const expression = fc
  .tuple(operand, fc.constantFrom('+', '=', 'AND', ', '), operand)
  .map(([left, operator, right]) =>
    operator === ', ' ? `f(${left}, ${right})` : `(${left} ${operator} ${right})`,
  )
const quote = (value: string) => `"${value.replaceAll('"', '""')}"`

it('reads back any query that it is given, whatever its names and texts contain', () => {
  const query = fc.record({
    source: fc.array(name, { minLength: 1, maxLength: 3 }),
    items: fc.array(fc.oneof(fc.constant('*' as const), fc.record({ name, expression })), {
      minLength: 1,
      maxLength: 4,
    }),
    filter: fc.option(expression, { nil: undefined }),
    limit: fc.option(fc.integer({ min: 1 }), { nil: undefined }),
  })
  fc.assert(
    fc.property(query, (expected) => {
      const items = expected.items.map((item) =>
        item === '*' ? '*' : `${item.expression} AS ${quote(item.name)}`,
      )
      const where = expected.filter === undefined ? '' : ` WHERE ${expected.filter}`
      const limit = expected.limit === undefined ? '' : ` LIMIT ${expected.limit}`
      const sql = `SELECT ${items.join(', ')} FROM ${expected.source.map(quote).join('.')}${where}${limit}`
      expect(parseSelect(sql)).toEqual(expected)
    }),
  )
})
