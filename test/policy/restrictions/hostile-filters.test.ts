import { describe, expect, it } from 'vitest'
import { FilterError } from '../../../src/policy/restrictions/filter-tokens.ts'
import { seededRandom, type Random } from '../../differential/random.ts'
import { createCondition } from '../../restricted-reads/support/random-read.ts'
import { seed } from '../../support/seed.ts'
import { isThorough } from '../../support/thorough.ts'
import { findForeign, printRestricted } from './restricted-filter.ts'

const truths = ['true', 'id >= 0', "name = 'x'"]

/** Ways out of the parentheses that a gateway could put around a filter; `%` is a condition. */
const escapes = [
  '%) OR (true',
  '%) OR true -- ',
  '%) -- ',
  '%) /* x */ OR (true',
  '% /* ) */',
  '%) OR (1=1) /*',
  '%; DROP TABLE t',
  '%) GROUP BY (id',
  '%) UNION ALL SELECT (1',
  'NOT (%) OR NOT (%',
  "% OR region = 'US'",
  "(%) OR (region <> 'EU')",
  '%\u0000) OR (true',
  '%\u00a0OR true',
  '%\uff09OR\uff08true',
  '%\\) OR (true',
].flatMap((form) => truths.map((truth) => form.replaceAll('%', () => truth)))

/** Names of hidden columns in the spelling of many parsers, and expressions that read one. */
const hiddenValues = [
  ...'ssn SSN Ssn `ssn` "ssn" `SSN` secret `SECRET` [ssn] order `order` `x``y` `x`y` region Region `region`'.split(
    ' ',
  ),
  ...'person person.ssn PERSON.ssn person.`ssn` `person`.`ssn` `person.ssn` person["ssn"] t.ssn id.ssn'.split(
    ' ',
  ),
  ...'`id`.`ssn` _rowid _rowaddr _rowoffset _distance _score _row_created_at_version @ssn $ssn :ssn ? @@ssn'.split(
    ' ',
  ),
  ...'$principal.name $principal.claims.tenant __proto__ constructor toString hasOwnProperty(name)'.split(
    ' ',
  ),
  ...'__proto__(name) ssn::text lower(ssn) lower("ssn") lower(`ssn`) concat(name,ssn) (ssn) ((ssn))'.split(
    ' ',
  ),
  ...'+ssn -ssn max(ssn) ANY(ssn) struct(ssn).c0 map([ssn],[ssn]) [ssn][1] tags[ssn] nullif(ssn,name)'.split(
    ' ',
  ),
  ...'\u017fsn s\u017fn \uff53\uff53\uff4e s\u200bsn s\u0073\u0301n \ufeffssn'.split(' '),
  'person . ssn',
  "person['ssn']",
  "get_field(person,'ssn')",
  'EXISTS (SELECT 1)',
  'ssn IN (SELECT ssn FROM t)',
  'array_filter(tags, x -> ssn = x)',
  "CASE WHEN ssn = 'a' THEN name END",
  "ssn || 'a'",
].flatMap((value) => [`${value} LIKE 'S%'`, `${value} = 'SSN1'`, `name = 'x' OR ${value} IS NOT NULL`])

/** Texts, numbers and operators that dialects of SQL read differently, and expressions that fail for some rows. */
const dialects = [
  ...'!ok ~ok 1=1 null=null is_valid(ssn) t.*=1 *=1 () ( ) (((((((( ; /**/true true/**/ \u00ffd=1 id\u0085=1'.split(
    ' ',
  ),
  ...'id=1_000 id=1..2 id=--1 id=-(1) id=+1 id===1 id<=>1 id!<1 id/0=1 id%0=1 id&1=1 id|1=1 id<<1=2'.split(
    ' ',
  ),
  ...'id=ALL(tags) id=9223372036854775808 id>1e400 factorial(id)=1 random()>0.5 count(*)>1 ${ssn} %(ssn)s'.split(
    ' ',
  ),
  ...'array_has(tags,ssn) starts_with(name,ssn) (id,id)=(2,2)'.split(' '),
  "name = 'a\\' OR true --'",
  "name = ''a'",
  "name = E'a\\' OR true'",
  "name = U&'\\0041'",
  'name = $$a$$',
  'name = "a" OR true',
  "name = '''' OR true OR ''''=''",
  "name = 'a\n--' OR true",
  "name='/*' OR name='*/'",
  "name = '\ud800'",
  'id = 1e',
  'id ! = 1',
  'id IN (1,)',
  'id IN (1, (SELECT 1))',
  "name LIKE 'a' ESCAPE '\\'",
  "regexp_like(name,'n')",
  'cast(name as int) = 1',
  'tags is true',
  "date '2026-01-01' > date '2025-01-01'",
  "array_has(make_array(ssn), 'SSN1')",
  "lower(DISTINCT name) = 'x'",
  "lower(name) FILTER (WHERE ssn='x') = 'n'",
  "lower.name = 'x'",
  "lower/**/(name) = 'n2'",
  "`a b`='ab2' or true",
  "id >= 0 and not (amount < 50 or name like 'n1%')",
  '-- x\ntrue',
  "\\u0073sn = 'x'",
  "'\\u0073sn' = name",
  'id = 1), (id = 2',
]

/** Filters that escape a condition beside them, read hidden data, or mean something else to another parser. */
const hostileFilters: readonly string[] = [...new Set([...escapes, ...hiddenValues, ...dialects])]

/** Filters as long as they may be, or longer, and deep ones. */
const largeFilters: Readonly<Record<string, string>> = {
  'an open parenthesis': '('.repeat(65_536),
  'nested parentheses': `${'('.repeat(30_000)}true${')'.repeat(30_000)}`,
  'NOT again and again': `${'not '.repeat(16_000)}ok`,
  'NOT of parentheses': `${'not ('.repeat(12_000)}ok`,
  'a chain of ORs': `${'ok or '.repeat(10_000)}ok`,
  'a chain of ANDs': `${'ok and '.repeat(9_000)}ok`,
  'a long list': `id in (${'1,'.repeat(32_000)}1)`,
  'a long name': 'a'.repeat(65_536),
  'a long path': `${'a.'.repeat(32_000)}a`,
  'a long text': `name = '${"''".repeat(32_000)}'`,
  'an open text': `name = '${"''".repeat(32_000)}`,
  'an open name': `\`${'a'.repeat(65_000)}`,
  'a long number': '1'.repeat(65_536),
  'white space': ' '.repeat(65_536),
  'nested calls': `${'lower('.repeat(10_000)}name`,
  signs: '-'.repeat(65_536),
  'more than may be': 'a'.repeat(70_000),
}

/** Returns the foreign parts of what the engine would get, none if the filter is refused. */
function findForeignIn(filter: string): readonly string[] {
  const printed = printRestricted(filter)
  return printed instanceof FilterError ? [] : findForeign(printed)
}

it('prints visible columns and conditions only, or refuses', () => {
  const escaped = hostileFilters.filter((filter) => findForeignIn(filter).length > 0)
  expect(escaped).toEqual([])
  const refused = hostileFilters.filter((filter) => printRestricted(filter) instanceof FilterError)
  expect(refused.length).toBeGreaterThan(hostileFilters.length * 0.9)
})

it.each([
  ['id = 1 or `ssn` = 2', '`ssn`'],
  ["name = 'a' or ssn = ''", 'ssn'],
  ["name = '''' ; drop", 'drop'],
  ['(id = 1) -- x', '--'],
  ['cast(id AS int)', 'cast'],
])('would notice %j as foreign', (printed, foreign) => {
  expect(findForeign(printed)).toContain(foreign)
})

describe.each(Object.entries(largeFilters))('%s', (_, filter) => {
  it('is refused or printed in little time', () => {
    const start = performance.now()
    expect(findForeignIn(filter)).toEqual([])
    expect(performance.now() - start).toBeLessThan(10_000)
  })
})

/** Words and signs that mean something to a parser of SQL. */
const vocabulary = [
  ...'( ) = == <> < >= , . - -- /* */ ; \\ :: [ ] @ $$ $principal.name 1 -1 2.5 1e3 \u00a0 \u0000'.split(' '),
  ..."' '' 'n2' \" ` `id` `ssn` id name ok amount tags ssn region person.ssn note.open".split(' '),
  ...'and OR not in is null true false like between date timestamp lower( starts_with( array_has('.split(' '),
  "'2026-01-01'",
  ' ',
  '\n',
]

const count = isThorough ? 200_000 : 3_300

it('prints visible columns and conditions only, or refuses, for random words', () => {
  const { pick, below, chance } = seededRandom(seed)
  for (let made = 0; made < count; made += 1) {
    const words = Array.from({ length: 1 + below(14) }, () => pick(vocabulary) + (chance(0.5) ? ' ' : ''))
    expect(findForeignIn(words.join('')), words.join('')).toEqual([])
  }
})

/** Of any script, a control character, or half of one. */
function pickCharacter({ below, chance }: Random): string {
  return String.fromCodePoint(below(chance(0.5) ? 0x11_0000 : 0x3000))
}

it('prints a condition that is read as the same condition, also if parts of it are replaced', () => {
  const random = seededRandom(seed)
  let accepted = 0
  for (let made = 0; made < count; made += 1) {
    const condition = createCondition(random, random.chance(0.3), random.below(4))
    const at = random.below(condition.length)
    const added = random.chance(0.5) ? random.pick(vocabulary) : pickCharacter(random)
    const filter = random.chance(0.5)
      ? condition
      : condition.slice(0, at) + added + condition.slice(at + random.below(3))
    const printed = printRestricted(filter)
    if (printed instanceof FilterError) continue
    accepted += 1
    expect(findForeign(printed), filter).toEqual([])
    expect(printRestricted(printed), filter).toBe(printed)
  }
  expect(accepted).toBeGreaterThan(count / 4)
})
