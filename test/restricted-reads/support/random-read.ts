import type { Random } from '../../differential/random.ts'
import { isObject } from '../../../src/lib/json/json-values.ts'
import { words } from './sample-tables.ts'

/** A request about a table: what follows the id of the table in its path, and the body. */
export interface TableRequest {
  readonly action: string
  readonly body: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * The certain part of the rows that a read returns, on tables that do not change: the rows and their order, the rows, or
 * only how many. Without `order_by`, the engine returns rows as they are stored, but computes expressions of several
 * batches at the same time and returns whichever is done first: one query of one table, repeated, returns them in several
 * orders, and with `k` or `offset` other rows, to callers without a restriction, too. The rows that it finds for each of
 * several vectors come in any order.
 */
export function getCertainty({ body }: TableRequest): 'order' | 'rows' | 'count' {
  const { columns, vector } = body
  if (isObject(vector)) return 'rows'
  const computes = isObject(columns) && !('column_names' in columns)
  return !computes || 'order_by' in body || 'vector_column' in body ? 'order' : 'count'
}

/** Returns the read without `k` and `offset`. */
export function withoutCut({
  body: { k: _k, offset: _offset, ...body },
  ...read
}: TableRequest): TableRequest {
  return { ...read, body }
}

type Condition = (random: Random) => string

const conditions: readonly Condition[] = [
  ({ pick, below }) => `amount ${pick(['=', '<', '>=', '<>', '!='])} ${below(50)}`,
  ({ pick }) => `name = '${pick(words).replaceAll("'", "''")}'`,
  ({ pick }) => `name ${pick(['', 'not '])}like '${pick(['a%', '%a', '_eta', '%'])}'`,
  () => 'ok',
  ({ pick }) => `ok is ${pick(['', 'not '])}null`,
  ({ pick }) => `name is ${pick(['', 'not '])}null`,
  ({ below }) => `amount between ${below(20)} and ${20 + below(40)}`,
  ({ below }) => `id in (${below(30)}, ${below(30)}, ${below(30)})`,
  ({ below }) => `amount not in (${below(30)}, ${below(30)})`,
  ({ pick }) => `array_has(tags, '${pick(['alpha', 'beta'])}')`,
  ({ pick }) => `score ${pick(['>', '<=', '='])} ${pick(['0', '-1.5', '1e300'])}`,
  () => "lower(name) = 'alpha'",
  () => 'length(name) > 4',
  () => "starts_with(name, 'a')",
  () => "note.open = 'alpha'",
  () => "`note`.`open` ilike 'A%'",
]

/** Attempts to read hidden data, to escape the restriction, or to fail for hidden values only. */
const hostileConditions: readonly Condition[] = [
  () => "ssn like 'C%'",
  () => "region = 'US'",
  () => 'true) or (true',
  () => 'true)) or ((true',
  () => 'cast(name as int) > 1',
  ({ below }) => `100 / (amount - ${below(50)}) > 1`,
  () => 'factorial(amount) > 1',
  () => "note.ssn = 'x'",
  () => "note['ssn'] = 'x'",
  () => '_rowid > 3',
  () => "amount = '1'",
  () => 'name = 1',
  () => 'lower("ssn") = \'x\'',
  () => 'id >= 0 -- ',
  () => "array_has(tags, 'x') or length(tags) > 1",
  () => 'exists (select 1)',
  () => 'id = 1), (id = 2',
]

/** Returns a condition; with hostile parts if so asked. */
export function createCondition(random: Random, isHostile: boolean, depth = random.below(3)): string {
  const { pick, chance } = random
  if (depth === 0) return pick(isHostile && chance(0.5) ? hostileConditions : conditions)(random)
  const left = createCondition(random, isHostile, depth - 1)
  const right = (): string => createCondition(random, false, depth - 1)
  return pick([
    () => `${left} and ${right()}`,
    () => `${right()} or ${left}`,
    () => `not (${left})`,
    () => `(${left})`,
  ])()
}

const names = ['id', 'amount', 'name', 'tags', 'note.open', 'v', 'ok', 'score'] as const
const hostileNames = ['ssn', '*', 'note', 'note.ssn', 'region', 'SSN', '`ssn`', '_rowid', '_rowaddr'] as const
const expressions = ['id', 'lower(name)', 'upper(note.open)', 'length(name)', 'ok', '`v`'] as const
const hostileExpressions = [
  'ssn',
  '*',
  'upper(ssn)',
  '1/amount',
  'cast(name as int)',
  'region',
  'ssn from t --',
] as const

/** Other requests that the policies allow or deny as a whole. */
const otherActions = [
  'describe?load_detailed_metadata=true',
  'describe?check_declared=true',
  'describe',
  'exists',
  'explain_plan',
  'analyze_plan',
  'stats',
  'index/list',
] as const

/** Returns a read; about a third of them asks for what a restriction does not leave. */
export function createRandomRead(random: Random): TableRequest {
  const { pick, chance } = random
  const isHostile = chance(0.33)
  const headers = chance(0.5) ? { 'user-agent': 'LanceDB-Node-Client/0.31.0' } : {}
  if (chance(0.05)) return { action: pick(otherActions), body: {}, headers }
  if (!chance(0.15)) return { action: 'query', body: createQuery(random, isHostile), headers }
  const predicate = chance(0.8) ? { predicate: createCondition(random, isHostile) } : {}
  return { action: 'count_rows', body: predicate, headers }
}

function createQuery(random: Random, isHostile: boolean): Record<string, unknown> {
  const { pick, chance } = random
  const query = {
    vector: [],
    k: pick([1000, Number.MAX_SAFE_INTEGER]),
    ...(chance(0.66) && { filter: createCondition(random, isHostile) }),
    ...createColumns(random, isHostile),
    ...(chance(0.25) ? createSearch(random) : createOrder(random, isHostile)),
  }
  return isHostile && chance(0.3) ? { ...query, ...pick(hostileMembers) } : query
}

const hostileMembers = [
  { with_row_id: true },
  { version: 1 },
  { branch: 'other' },
  { full_text_query: { query: 'alpha' } },
  { vector: [1, 1] },
  { filter: { sql: 'true' } },
  { unknown: true },
] as const

function createColumns({ pick, chance, below }: Random, isHostile: boolean): object {
  const hides = isHostile && chance(0.3)
  const form = below(8)
  if (form < 3) {
    const list = Array.from({ length: 1 + below(3) }, () => pick(names))
    const unique = [...new Set<string>([...list, ...(hides ? [pick(hostileNames)] : [])])]
    return { columns: chance(0.5) ? unique : { column_names: unique } }
  }
  if (form < 5) return { columns: { a: pick(hides ? hostileExpressions : expressions), b: 'id' } }
  return {}
}

const bounds = [{ upper_bound: 1e11 }, { lower_bound: 1e9 }, { lower_bound: 1e9, upper_bound: 3e11 }] as const
const effort = [{ nprobes: 1 }, { minimum_nprobes: 1, maximum_nprobes: 3 }, { ef: 4 }] as const

function createSearch({ pick, chance, below }: Random): object {
  const vector = [below(1e6), below(1e6)]
  return {
    vector: chance(0.1) ? { multi_vector: [vector, [below(1e6), below(1e6)]] } : vector,
    vector_column: 'v',
    k: 1 + below(6),
    ...(chance(0.25) && { prefilter: chance(0.5) }),
    ...(chance(0.25) && { distance_type: pick(['l2', 'dot']) }),
    ...(chance(0.25) && pick(bounds)),
    ...(chance(0.25) && pick(effort)),
    ...(chance(0.25) && { refine_factor: 1 + below(3) }),
    ...(chance(0.5) && { bypass_vector_index: chance(0.5) }),
    ...(chance(0.25) && { fast_search: true }),
    ...(chance(0.25) && { offset: below(3) }),
  }
}

function createOrder({ pick, chance, below }: Random, isHostile: boolean): object {
  const offset = chance(0.5) && { offset: below(6) }
  if (chance(0.5)) return { ...(chance(0.5) && { k: pick([1, 3, 10, 100]) }), ...offset }
  const column_name = isHostile && chance(0.3) ? pick(['ssn', 'region']) : pick(['amount', 'name', 'id'])
  const order = { column_name, ascending: chance(0.5), nulls_first: chance(0.5) }
  return { k: pick([1, 3, 10, 1000]), order_by: [order, { column_name: 'id' }], ...offset }
}
