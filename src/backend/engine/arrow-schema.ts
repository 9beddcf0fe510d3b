import { readFrames } from './arrow-frames.ts'
import {
  boolField,
  int16Field,
  int32Field,
  stringField,
  tableField,
  tableVector,
  uint8Field,
} from '../../interface/flatbuffer.ts'
import type { FlatTable } from '../../interface/flatbuffer.ts'

/** A unit of time, as Arrow and the engine abbreviate it. */
type TimeUnit = 's' | 'ms' | 'us' | 'ns'

/** An Arrow type; the children of a nested type stand in its field. */
export type ArrowType =
  | { readonly kind: 'int'; readonly bits: number; readonly signed: boolean }
  | { readonly kind: 'float'; readonly bits: 16 | 32 | 64 }
  | { readonly kind: 'decimal'; readonly bits: number; readonly precision: number; readonly scale: number }
  | { readonly kind: 'date'; readonly unit: 'day' | 'ms' }
  | { readonly kind: 'time'; readonly bits: number; readonly unit: TimeUnit }
  | { readonly kind: 'timestamp'; readonly unit: TimeUnit; readonly timezone: string | undefined }
  | { readonly kind: 'duration'; readonly unit: TimeUnit }
  | { readonly kind: 'fixed_size_binary' | 'fixed_size_list'; readonly length: number }
  | { readonly kind: 'map'; readonly keysSorted: boolean }
  | { readonly kind: PlainKind }

type PlainKind = (typeof plainKinds)[number][1]

/** A column or a child of a nested column. */
export interface ArrowField {
  readonly name: string
  readonly nullable: boolean
  readonly type: ArrowType
  /** Of a dictionary column: the type of its indices; `type` is that of its values. */
  readonly indexType: ArrowType | undefined
  readonly children: readonly ArrowField[]
  readonly metadata: Readonly<Record<string, string>>
}

/** The schema of a table. */
export interface ArrowSchema {
  readonly fields: readonly ArrowField[]
  readonly metadata: Readonly<Record<string, string>>
}

/** Types without parameters, by their number in the union `Type` of Schema.fbs. */
const plainKinds = [
  [1, 'null'],
  [4, 'binary'],
  [5, 'utf8'],
  [6, 'bool'],
  [11, 'interval'],
  [12, 'list'],
  [13, 'struct'],
  [14, 'union'],
  [19, 'large_binary'],
  [20, 'large_utf8'],
  [21, 'large_list'],
  [22, 'run_end_encoded'],
  [23, 'binary_view'],
  [24, 'utf8_view'],
  [25, 'list_view'],
  [26, 'large_list_view'],
] as const

const plainKindOf = new Map<number, PlainKind>(plainKinds)
const units: readonly TimeUnit[] = ['s', 'ms', 'us', 'ns']
const floatBits = [16, 32, 64] as const

/**
 * The schema of an Arrow IPC file that the engine made. Not for files of others: a crafted schema may name one
 * child many times over.
 */
export function readSchema(file: Uint8Array): ArrowSchema {
  for (const { header } of readFrames(file)) {
    return { fields: tableVector(header, 1).map(readField), metadata: readMetadata(tableVector(header, 2)) }
  }
  throw new Error('an Arrow IPC file without a schema')
}

function readField(table: FlatTable): ArrowField {
  const dictionary = tableField(table, 4)
  const indexType = dictionary && tableField(dictionary, 1)
  return {
    name: stringField(table, 0) ?? '',
    nullable: boolField(table, 1),
    type: readType(uint8Field(table, 2), tableField(table, 3)),
    // The indices of a dictionary are int32 where the schema does not say.
    indexType: dictionary && (indexType ? readType(2, indexType) : { kind: 'int', bits: 32, signed: true }),
    children: tableVector(table, 5).map(readField),
    metadata: readMetadata(tableVector(table, 6)),
  }
}

function readMetadata(pairs: readonly FlatTable[]): Record<string, string> {
  return Object.fromEntries(pairs.map((pair) => [stringField(pair, 0) ?? '', stringField(pair, 1) ?? '']))
}

/** The defaults are those of Schema.fbs: milliseconds for dates, times and durations, seconds for timestamps. */
function readType(number: number, type: FlatTable | undefined): ArrowType {
  const plain = plainKindOf.get(number)
  if (plain !== undefined) return { kind: plain }
  if (type === undefined) throw new Error(`Arrow type ${number} without parameters`)
  switch (number) {
    case 2:
      return { kind: 'int', bits: int32Field(type, 0), signed: boolField(type, 1) }
    case 3:
      return { kind: 'float', bits: floatBits[int16Field(type, 0)] ?? 64 }
    case 7:
      return decimalType(type)
    case 8:
      return { kind: 'date', unit: int16Field(type, 0, 1) === 0 ? 'day' : 'ms' }
    case 9:
      return { kind: 'time', unit: readUnit(type, 1), bits: int32Field(type, 1, 32) }
    case 10:
      return { kind: 'timestamp', unit: readUnit(type, 0), timezone: stringField(type, 1) }
    case 15:
      return { kind: 'fixed_size_binary', length: int32Field(type, 0) }
    case 16:
      return { kind: 'fixed_size_list', length: int32Field(type, 0) }
    case 17:
      return { kind: 'map', keysSorted: boolField(type, 0) }
    case 18:
      return { kind: 'duration', unit: readUnit(type, 1) }
    default:
      throw new Error(`unknown Arrow type ${number}`)
  }
}

function decimalType(type: FlatTable): ArrowType {
  const bits = int32Field(type, 2, 128)
  return { kind: 'decimal', bits, precision: int32Field(type, 0), scale: int32Field(type, 1) }
}

function readUnit(type: FlatTable, absent: number): TimeUnit {
  return units[int16Field(type, 0, absent)] ?? 'us'
}
