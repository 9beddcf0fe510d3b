import { Date as DateType } from 'apache-arrow/fb/date'
import { Decimal } from 'apache-arrow/fb/decimal'
import { Duration } from 'apache-arrow/fb/duration'
import type { Field } from 'apache-arrow/fb/field'
import { FixedSizeBinary } from 'apache-arrow/fb/fixed-size-binary'
import { FixedSizeList } from 'apache-arrow/fb/fixed-size-list'
import { FloatingPoint } from 'apache-arrow/fb/floating-point'
import { Int } from 'apache-arrow/fb/int'
import { Interval } from 'apache-arrow/fb/interval'
import { Map as MapType } from 'apache-arrow/fb/map'
import type { Schema } from 'apache-arrow/fb/schema'
import { Time } from 'apache-arrow/fb/time'
import { Timestamp } from 'apache-arrow/fb/timestamp'
import { Type } from 'apache-arrow/fb/type'
import { Union } from 'apache-arrow/fb/union'
import { MessageFrames } from './messages.ts'

/**
 * An Arrow type, with parameters in the order of Schema.fbs. The children of a nested type are in its field. Types without
 * parameters include those that are newer than the generated enumeration.
 */
export type ArrowType = ReturnType<SchemaReader['readType']>

export interface ArrowField {
  readonly name: string
  readonly nullable: boolean
  readonly type: ArrowType
  /** Index type of a dictionary column; `type` is its value type. */
  readonly indexType: ReturnType<typeof readIntType> | undefined
  readonly children: readonly ArrowField[]
  readonly metadata: Readonly<Record<string, string>>
}

export interface ArrowSchema {
  readonly fields: readonly ArrowField[]
  readonly metadata: Readonly<Record<string, string>>
}

const maxDepth = 64

// The decoder of apache-arrow follows shared parts without a limit (1 KB can become 1 GB), and has no LargeList.
/**
 * Reads the schema of a message; safe for untrusted input. `maxBytes` is the size of the message: a FlatBuffers message
 * can refer to one part many times, so a schema larger than its message is refused. Throws RangeError for that, for
 * more than 64 levels, for offsets outside of the message, and for two values of one metadata key: readers take the
 * first or the last.
 */
export function readSchema(schema: Schema, maxBytes: number): ArrowSchema {
  const reader = new SchemaReader(maxBytes)
  return {
    fields: readList(schema.fieldsLength(), (index) => reader.readField(schema.fields(index), 1)),
    metadata: reader.readMetadata(schema),
  }
}

class SchemaReader {
  #remainingBytes: number

  constructor(maxBytes: number) {
    this.#remainingBytes = maxBytes
  }

  readField(field: Field | null, depth: number): ArrowField {
    if (field === null) throw new RangeError('a field is missing')
    if (depth > maxDepth) throw new RangeError('the schema is nested too deeply')
    // Minimum size of an offset and a table.
    this.#takeBytes(8)
    const dictionary = field.dictionary()
    return {
      name: this.#readText(field.name()) ?? '',
      nullable: field.nullable(),
      type: this.readType(field),
      indexType: dictionary === null ? undefined : readIntType(dictionary.indexType()),
      children: readList(field.childrenLength(), (index) => this.readField(field.children(index), depth + 1)),
      metadata: this.readMetadata(field),
    }
  }

  readMetadata(parent: Pick<Field, 'customMetadata' | 'customMetadataLength'>): Record<string, string> {
    const metadata = new Map<string, string>()
    for (let index = 0; index < parent.customMetadataLength(); index += 1) {
      const pair = parent.customMetadata(index)
      this.#takeBytes(8)
      const key = this.#readText(pair?.key()) ?? ''
      const value = this.#readText(pair?.value()) ?? ''
      if ((metadata.get(key) ?? value) !== value) throw new RangeError('a key of the metadata has two values')
      metadata.set(key, value)
    }
    return Object.fromEntries(metadata)
  }

  readType(field: Field) {
    const id = field.typeType()
    switch (id) {
      case Type.Int:
        return readIntType(readParameters(field, new Int()))
      case Type.FloatingPoint:
        return { id, precision: readParameters(field, new FloatingPoint()).precision() }
      case Type.Decimal: {
        const type = readParameters(field, new Decimal())
        return { id, precision: type.precision(), scale: type.scale(), bits: type.bitWidth() }
      }
      case Type.Date:
        return { id, unit: readParameters(field, new DateType()).unit() }
      case Type.Time: {
        const type = readParameters(field, new Time())
        return { id, unit: type.unit(), bits: type.bitWidth() }
      }
      case Type.Timestamp: {
        const type = readParameters(field, new Timestamp())
        return { id, unit: type.unit(), timezone: this.#readText(type.timezone()) }
      }
      case Type.Interval:
        return { id, unit: readParameters(field, new Interval()).unit() }
      case Type.Union: {
        const type = readParameters(field, new Union())
        const length = type.typeIdsLength()
        this.#takeBytes(4 * length)
        return { id, mode: type.mode(), typeIds: readList(length, (index) => type.typeIds(index) ?? 0) }
      }
      case Type.FixedSizeBinary:
        return { id, length: readParameters(field, new FixedSizeBinary()).byteWidth() }
      case Type.FixedSizeList:
        return { id, length: readParameters(field, new FixedSizeList()).listSize() }
      case Type.Map:
        return { id, keysSorted: readParameters(field, new MapType()).keysSorted() }
      case Type.Duration:
        return { id, unit: readParameters(field, new Duration()).unit() }
      case Type.NONE:
      case Type.Null:
      case Type.Binary:
      case Type.Utf8:
      case Type.Bool:
      case Type.List:
      case Type.Struct_:
      case Type.LargeBinary:
      case Type.LargeUtf8:
      case Type.LargeList:
      case Type.RunEndEncoded:
      default:
        return { id }
    }
  }

  #readText<Text extends string | null | undefined>(text: Text): Text {
    this.#takeBytes(text?.length ?? 0)
    return text
  }

  #takeBytes(bytes: number): void {
    this.#remainingBytes -= bytes
    if (this.#remainingBytes < 0) throw new RangeError('the schema is larger than its message')
  }
}

function readParameters<Parameters>(field: Field, type: Parameters): Parameters {
  const found: Parameters | null = field.type(type)
  if (found === null) throw new Error(`Arrow type ${field.typeType()} without parameters`)
  return found
}

/** The default type of an index is int32. */
function readIntType(type: Int | null) {
  return { id: Type.Int as const, bits: type?.bitWidth() ?? 32, signed: type?.isSigned() ?? true }
}

function readList<Item>(length: number, read: (index: number) => Item): Item[] {
  return Array.from({ length }, (_, index) => read(index))
}

/**
 * Reads an Arrow IPC stream of a schema and nothing else; safe for untrusted input. Returns undefined for anything else,
 * and for a schema above 1 MiB.
 */
export function readSchemaStream(stream: Uint8Array): ArrowSchema | undefined {
  let schema: ArrowSchema | undefined
  const frames = new MessageFrames(({ kind, header }, { length }) => {
    if (kind !== 'schema') throw new RangeError('the stream has rows')
    schema = readSchema(header, length)
  })
  try {
    frames.push(Buffer.from(stream.buffer, stream.byteOffset, stream.byteLength))
    return frames.isWhole ? schema : undefined
  } catch {
    return undefined
  }
}
