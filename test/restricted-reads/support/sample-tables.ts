import {
  Bool,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int64,
  List,
  RecordBatchStreamWriter,
  Struct,
  Table,
  Utf8,
  vectorFromArray,
  type DataType,
} from 'apache-arrow'
import type { Random } from '../../differential/random.ts'

/** In all hidden texts, and in the name of a hidden column that no request names. */
export const canary = 'CANARY'

/** The columns that the restriction leaves, with their types. */
export const visibleColumns = {
  id: 'number',
  amount: 'number',
  name: 'text',
  ok: 'boolean',
  score: 'number',
  tags: 'texts',
  v: 'other',
  'note.open': 'text',
} as const

/** The condition on visible rows. */
export const visibleRows = "region = 'EU'"

export const words = ['alpha', 'beta', 'gamma', "o'neil", 'x%y', '', 'ALPHA', 'a_b', '\u00fcn\u00ef'] as const

const text = new Utf8()
const columns = {
  id: new Int64(),
  region: text,
  amount: new Int64(),
  name: text,
  ok: new Bool(),
  score: new Float64(),
  tags: new List(new Field('item', text)),
  v: new FixedSizeList(2, new Field('item', new Float32())),
  ssn: text,
  note: new Struct([new Field('open', text), new Field('ssn', text)]),
  [`${canary}_unnamed`]: text,
} satisfies Record<string, DataType>

interface Row extends Readonly<Record<string, unknown>> {
  readonly region: unknown
  readonly note: { readonly open: string; readonly ssn?: string }
}

/** Streams in Arrow, one a part: the first creates a table, and the others are inserted. */
export interface SampleTables {
  readonly a: readonly Buffer[]
  /** The visible rows of `a` among other hidden rows, with other values in hidden columns. */
  readonly b: readonly Buffer[]
  /** The visible rows of `a` alone, without values in hidden columns. */
  readonly c: readonly Buffer[]
}

/** `size` is that of each part of `a`. */
export function createSampleTables(random: Random, size = random.pick([1, 5, 30, 200])): SampleTables {
  const parts = Array.from({ length: random.pick([1, 1, 3]) }, (_, part) =>
    createPart(random, part * size, size),
  )
  return { a: parts.map(({ a }) => a), b: parts.map(({ b }) => b), c: parts.map(({ c }) => c) }
}

/** Creates a part of each table, with ids from `start`. */
function createPart(random: Random, start: number, size: number): Record<'a' | 'b' | 'c', Buffer> {
  // The writer needs a value in each column.
  const first: Row = { ...createRow(random, start, true), amount: 7n, name: 'alpha', ok: true }
  const others = Array.from({ length: size - 1 }, (_, index) =>
    createRow(random, start + index + 1, random.chance(0.5)),
  )
  const a = [first, ...others]
  const visible = a.filter(({ region }) => region === 'EU')
  const b = visible.flatMap((row) => [
    ...Array.from({ length: random.below(3) }, () => createRow(random, random.below(200), false)),
    withHidden(row, () => canaryText(random)),
  ])
  return { a: write(a), b: write(b), c: write(visible.map((row) => withHidden(row, () => ''))) }
}

/** Hidden rows have values that visible ones do not have, and that filters and orders treat in a special way. */
function createRow(random: Random, id: number, isVisible: boolean): Row {
  const { pick, below, chance } = random
  const row = {
    id: BigInt(id),
    region: isVisible ? 'EU' : pick(['US', null, 'eu', 'EU ', canaryText(random)]),
    amount: chance(0.2) ? null : BigInt(isVisible ? below(50) : pick([below(50), 0, 2 ** 53 - 1])),
    name: chance(0.15) ? null : pick(isVisible ? words : [...words, canaryText(random)]),
    ok: pick([true, false, null]),
    score: pick([1.5, -2, 0, Number.NaN, 3.25]),
    tags: [pick(words), isVisible ? pick(words) : canaryText(random)],
    v: [below(1e6), below(1e6)],
    note: { open: pick(words) },
  }
  return withHidden(row, () => canaryText(random))
}

function withHidden(row: Row, hidden: () => string): Row {
  const { open } = row.note
  return { ...row, ssn: hidden(), note: { open, ssn: hidden() }, [`${canary}_unnamed`]: hidden() }
}

function canaryText({ below }: Random): string {
  return `${canary}${below(1e6)}`
}

function write(rows: readonly Row[]): Buffer {
  const vectors = Object.entries(columns).map(([name, type]) => [
    name,
    vectorFromArray(
      rows.map((row) => row[name]),
      type as DataType,
    ),
  ])
  const table = new Table(Object.fromEntries(vectors) as ConstructorParameters<typeof Table>[0])
  return Buffer.from(RecordBatchStreamWriter.writeAll(table).toUint8Array(true))
}
