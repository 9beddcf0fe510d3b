import { expect, it } from 'vitest'
import { FilterError } from '../../../src/policy/restrictions/filter-tokens.ts'
import { printRestricted } from './restricted-filter.ts'

it.each<[filter: string, printed: string]>([
  ['ok', '`ok`'],
  ['`ok`', '`ok`'],
  ["`a b` = 'x'", "(`a b` = 'x')"],
  ['Up is null', '(`Up` IS NULL)'],
  ["note.open = 'x'", "(`note`.`open` = 'x')"],
  ["note . `open` = 'x'", "(`note`.`open` = 'x')"],
  ['id = 1', '(`id` = 1)'],
  ['id=1', '(`id` = 1)'],
  ['id\t=\r\n1', '(`id` = 1)'],
  ['id == 1', '(`id` = 1)'],
  ['id != 1', '(`id` <> 1)'],
  ['id <> 1', '(`id` <> 1)'],
  ['id < 1', '(`id` < 1)'],
  ['id <= 1', '(`id` <= 1)'],
  ['id > 1', '(`id` > 1)'],
  ['id >= 1', '(`id` >= 1)'],
  ['id = -1', '(`id` = -1)'],
  ['id = - 1', '(`id` = -1)'],
  ['id = -1.50e-3', '(`id` = -1.50e-3)'],
  ['id = 1E+10', '(`id` = 1E+10)'],
  ["name = ''", "(`name` = '')"],
  ["name = 'it''s'", "(`name` = 'it''s')"],
  ["name = 'AND `ssn` -- ü 日本 😀'", "(`name` = 'AND `ssn` -- ü 日本 😀')"],
  ['ok = true', '(`ok` = true)'],
  ['ok = FALSE', '(`ok` = false)'],
  ['true', 'true'],
  ['False', 'false'],
  ["day = date '2026-01-31'", "(`day` = date '2026-01-31')"],
  ["day < '2026-01-31'", "(`day` < '2026-01-31')"],
  ["at > TIMESTAMP '2026-01-31 12:00:00'", "(`at` > timestamp '2026-01-31 12:00:00')"],
  ["at > timestamp '2026-01-31T12:00:00.123456789'", "(`at` > timestamp '2026-01-31T12:00:00.123456789')"],
  ['id in (1)', '(`id` IN (1))'],
  ['id IN (1, -2,3)', '(`id` IN (1, -2, 3))'],
  ["name not in ('a')", "(`name` NOT IN ('a'))"],
  ['id between 1 and 2', '(`id` BETWEEN 1 AND 2)'],
  ['id not between -1 and 2 and ok', '((`id` NOT BETWEEN -1 AND 2) AND `ok`)'],
  ["name like 'a%'", "(`name` LIKE 'a%')"],
  ["name ilike 'a_'", "(`name` ILIKE 'a_')"],
  ["name not like 'a''%'", "(`name` NOT LIKE 'a''%')"],
  ["upper(name) not ilike 'a'", "(upper(`name`) NOT ILIKE 'a')"],
  ['id is null', '(`id` IS NULL)'],
  ['tags is not null', '(`tags` IS NOT NULL)'],
  ["STARTS_WITH ( name , 'a' )", "starts_with(`name`, 'a')"],
  ["contains(note.open, 'a')", "contains(`note`.`open`, 'a')"],
  ["ends_with(lower(name), 'a')", "ends_with(lower(`name`), 'a')"],
  ["array_has(tags, 'a')", "array_has(`tags`, 'a')"],
  ['array_has(counts, -1)', 'array_has(`counts`, -1)'],
  ['length(lower(name)) > 1', '(length(lower(`name`)) > 1)'],
  ['not ok', '(NOT `ok`)'],
  ['not not ok', '`ok`'],
  ['not id = 1', '(NOT (`id` = 1))'],
  ['not ok and ok', '((NOT `ok`) AND `ok`)'],
  ['not (ok and ok)', '(NOT (`ok` AND `ok`))'],
  ['((ok))', '`ok`'],
  ['ok and id = 1', '(`ok` AND (`id` = 1))'],
  ['ok or id = 1', '(`ok` OR (`id` = 1))'],
  ['ok and id = 1 or id = 2', '((`ok` AND (`id` = 1)) OR (`id` = 2))'],
  ['ok or id = 1 and id = 2', '(`ok` OR ((`id` = 1) AND (`id` = 2)))'],
  ['(ok or id = 1) and id = 2', '((`ok` OR (`id` = 1)) AND (`id` = 2))'],
  ['ok and ok and ok', '(`ok` AND (`ok` AND `ok`))'],
])('%s is sent as %s', (filter, printed) => {
  expect(printRestricted(filter)).toBe(printed)
})

const deep = (open: string, close: string, times: number, inner = 'ok'): string =>
  open.repeat(times) + inner + close.repeat(times)

const incomparable = (column: string, literal: string): string =>
  `a column of the type ${column} cannot be compared with a ${literal} here`
const unsupported = (name: string): string =>
  `the function ${name} is not supported; expected one of lower, upper, length, starts_with, ends_with, contains, array_has`
const noDate = "expected a date such as '2026-01-31'"
const noTimestamp = "expected a timestamp such as '2026-01-31 12:00:00'"

it.each<[filter: string, message: string, offset: number]>([
  ['', 'expected a column, found the end', 0],
  ['id', 'expected a comparison, found the end', 2],
  ['id id', 'expected a comparison, found "id"', 3],
  ['id =', 'expected a literal, found the end', 4],
  ['id = id', `expected a literal, such as 'EU' in single quotes, found "id"`, 5],
  ["id = -'a'", 'expected a number, found "a"', 6],
  ['1 = id', 'expected a column, found "1"', 0],
  ['null', 'expected a column, found "null"', 0],
  ['ok ok', 'expected the end, AND or OR, found "ok"', 3],
  ['ok)', 'expected the end, AND or OR, found ")"', 2],
  ['(ok', 'expected ")", found the end', 3],
  ['ok and', 'expected a column, found the end', 6],
  ['ok is', 'expected "NULL", found the end', 5],
  ['ok is true', 'expected "NULL", found "true"', 6],
  ['id in 1', 'expected "(", found "1"', 6],
  ['id in ()', 'expected a literal, found ")"', 7],
  ['id in (1 2)', 'expected ")", found "2"', 9],
  ["id in (1, 'a')", incomparable('number', 'text'), 10],
  ["id in ('a')", incomparable('number', 'text'), 7],
  ['id between 1 or 2', 'expected "AND", found "or"', 13],
  ["id between 'a' and 2", incomparable('number', 'text'), 11],
  ["id between 1 and 'a'", incomparable('number', 'text'), 17],
  ['id not null', 'expected IN, BETWEEN or LIKE, found "null"', 7],
  ["id like 'a'", 'LIKE is for columns of the type text', 3],
  ['name like 1', 'expected a text, found "1"', 10],
  ['name = 1', incomparable('text', 'number'), 7],
  ['ok = 1', incomparable('boolean', 'number'), 5],
  ["day = timestamp '2026-01-31 12:00:00'", incomparable('date', 'timestamp'), 16],
  ["tags = 'a'", incomparable('texts', 'text'), 7],
  ["day = date '2026-1-31'", noDate, 11],
  ["at = timestamp '12026-01-31 12:00:00'", noTimestamp, 15],
  ["day = date ' 2026-01-31'", noDate, 11],
  ["day = date '2026-01-31 '", noDate, 11],
  ["at = timestamp 'x2026-01-31 12:00:00'", noTimestamp, 15],
  ["at = timestamp '2026-01-31 12:00:00.'", noTimestamp, 15],
  ["at = timestamp '2026-01-31 12:00:00.1234567890'", noTimestamp, 15],
  ['day = date 1', 'expected a text, found "1"', 11],
  ['ok and note.missing = 1', 'there is no column "note.missing"', 7],
  ['note. = 1', 'expected a name, found "="', 6],
  ['OK', 'there is no column "OK"', 0],
  ['`and` = 1', 'there is no column "and"', 0],
  ['cast(id)', unsupported('cast'), 0],
  ['constructor(tags)', unsupported('constructor'), 0],
  ['`lower`(name)', 'there is no column "lower"', 0],
  ['lower(id) = 1', 'lower is for columns of the type text', 6],
  ['lower(name, name)', 'expected ")", found ","', 10],
  ['starts_with(name)', 'expected ",", found ")"', 16],
  ['starts_with(name, name)', 'expected a text, found "name"', 18],
  ["array_has(name, 'a')", 'array_has is for lists', 10],
  ['array_has(tags, 1)', 'array_has needs an item of the list', 16],
  ['name = $principal.name', 'expected a literal, found "principal.name"', 7],
  ["name = 'a' 'b'", 'expected the end, AND or OR, found "b"', 11],
  ["name = 'a''", '"\'" is not supported here', 10],
  ["name = 'a\\'", '"\'" is not supported here', 7],
  ["name = 'a\u0000'", '"\'" is not supported here', 7],
  ["name = 'a\u2028'", '"\'" is not supported here', 7],
  ["name = 'a\u202e'", '"\'" is not supported here', 7],
  ['name = "a"', `"\\"" is not supported here; a text has single quotes, such as 'EU'`, 7],
  ['`a`` = 1', '"`" is not supported here', 3],
  ['id = 1;', '";" is not supported here', 6],
  ['😀 = 1', '"😀" is not supported here', 0],
  ['id\u00a0= 1', '"\u00a0" is not supported here', 2],
  ['id + 1 > 2', '"+" is not supported here', 3],
  ['id = 1a', 'expected a space before this word', 6],
  ["name = 'a'`b`", 'expected a space before this word', 10],
  ['id = 1.', 'expected the end, AND or OR, found "."', 6],
  ['id = .5', 'expected a literal, found "."', 5],
  ['id = $', '"$" is not supported here', 5],
])('%j is refused: %s', expectError)

function expectError(filter: string, message: string, offset: number): void {
  const error = printRestricted(filter)
  expect(error).toBeInstanceOf(FilterError)
  expect(error).toMatchObject({ message, offset })
}

const manyLevels =
  'it has 18 levels; expected at most 16: NOT has one, a function two, and a chain of 1000 conditions ten'

it.each<[what: string, filter: string, message: string, offset: number]>([
  ['a number of 19 digits', `id = ${'9'.repeat(19)}`, 'expected a space before this word', 23],
  ['19 digits behind a point', `id = 0.${'9'.repeat(19)}`, 'expected a space before this word', 25],
  ['4 digits of an exponent', 'id = 1e1000', 'expected a space before this word', 10],
  ['257 characters of a variable', `name = $${'a'.repeat(257)}`, 'expected a space before this word', 264],
  ['257 characters of its member', `name = $a.${'a'.repeat(257)}`, 'expected a space before this word', 266],
  ['a name of 257 characters', 'a'.repeat(257), 'expected a space before this word', 256],
  ['257 characters in backticks', `\`${'a'.repeat(257)}\``, '"`" is not supported here', 0],
  ['65537 characters', ' '.repeat(65_537), 'it has 65537 characters; expected at most 65536', 0],
  ['17 parentheses', deep('(', ')', 17), 'it is nested deeper than 16 levels', 16],
  ['17 functions', deep('lower(', ')', 17, 'name'), 'it is nested deeper than 16 levels', 101],
  ['2001 conditions', `${'ok and '.repeat(2_000)}ok`, 'it has more than 2000 conditions', 13_996],
  ['18 levels of NOT and OR', deep('not (ok or ', ')', 9), manyLevels, 0],
  ['9 functions', `${deep('lower(', ')', 9, 'name')} = 'a'`, manyLevels, 0],
  ['9 functions, one with a text', `starts_with(${deep('lower(', ')', 8, 'name')}, 'a')`, manyLevels, 0],
])('%s are refused', (_, filter, message, offset) => expectError(filter, message, offset))

it.each<[what: string, filter: string, printed: string]>([
  ['18 digits', `id = ${'9'.repeat(18)}`, `(\`id\` = ${'9'.repeat(18)})`],
  ['18 digits behind a point', `id = 0.${'9'.repeat(18)}`, `(\`id\` = 0.${'9'.repeat(18)})`],
  ['65536 characters', `ok${' '.repeat(65_534)}`, '`ok`'],
  ['16 parentheses', deep('(', ')', 16), '`ok`'],
  ['16 NOT', deep('not (', ')', 16), deep('(NOT ', ')', 16, '`ok`')],
  ['16 NOT of a constant', deep('not (', ')', 16, 'true'), deep('(NOT ', ')', 16, 'true')],
  ['16 levels of NOT and OR', deep('not (ok or ', ')', 8), deep('(NOT (`ok` OR ', '))', 8, '`ok`')],
  ['8 functions', `${deep('lower(', ')', 8, 'name')} = 'a'`, `(${deep('lower(', ')', 8, '`name`')} = 'a')`],
])('%s are accepted', (_, filter, printed) => {
  expect(printRestricted(filter)).toBe(printed)
})

it('a filter may have 2000 conditions', () => {
  const conditions = Array.from({ length: 2_000 }, (_, id) => `id = ${id}`)
  const printed = String(printRestricted(conditions.join(' or ')))
  expect(printed.match(/`id` = \d+/g)).toHaveLength(2_000)
  expect(printed.match(/^\(+/)?.[0]).toHaveLength(11)
})
