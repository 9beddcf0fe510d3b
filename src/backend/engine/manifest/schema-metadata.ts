import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { CatalogError, invalidInput } from 'catalog-gateway/catalog-api'
import { encodeBytesField, encodeNumberField, type ProtobufField, readFields } from './protobuf.ts'
import type { Storage } from '../../storage/storage.ts'
import type { TablePoint } from '../native/open-table.ts'
import { describeVersion, formatManifestName, versionsFolder } from './manifest-files.ts'
import { locateManifest, toNumber, toBytes, toText } from './manifest.ts'

const maxAttempts = 50

/**
 * The engine has no call for this, so the new version is written here, as the engine would write it. The first writer
 * to give a version its final name wins; the others, also those of the engine, retry from the winning version, so no
 * change is lost. Unnamed keys stay; a change without effect creates no version. Throws ConcurrentModification after
 * losing every attempt.
 */
export async function changeSchemaMetadata(
  storage: Storage,
  { location, branch }: TablePoint,
  changes: MetadataChanges,
): Promise<Readonly<Record<string, string>>> {
  const folder = versionsFolder(location, branch)
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const newest = await describeVersion(storage, location, undefined, branch)
    if (newest === undefined) throw new CatalogError('TableNotFound', 'the table has no data')
    await storage.assertNoLinks(location, folder)
    const file = await storage.read(`${folder}/${formatManifestName(newest.version, newest.namingScheme)}`)
    // Deleted meanwhile, so another version is the newest now.
    if (file === undefined) continue
    const stamp = { uuid: randomUUID(), millis: Date.now() }
    const { metadata, next } = editSchemaMetadata(file.bytes, changes, stamp)
    if (next === undefined) return metadata
    const name = `${folder}/${formatManifestName(next.version, newest.namingScheme)}`
    if (await commit(storage, name, `${path.posix.dirname(folder)}/_transactions`, next)) return metadata
  }
  throw new CatalogError('ConcurrentModification', 'too many concurrent changes; retry')
}

/** False if another writer created that version. After an unknown outcome the transaction file stays: it is ignored. */
async function commit(
  storage: Storage,
  file: string,
  transactions: string,
  next: NextManifest,
): Promise<boolean> {
  const transaction = next.transaction && `${transactions}/${next.transaction.name}`
  if (next.transaction && transaction !== undefined) {
    await storage.create(transaction, next.transaction.bytes)
  }
  const isCommitted = await storage.create(file, next.file)
  if (!isCommitted && transaction !== undefined) await storage.remove(transaction)
  return isCommitted
}

export type MetadataChanges = Readonly<Record<string, string | null>>

export interface NextManifest {
  readonly version: number
  readonly file: Uint8Array
  /** Other writers read it to detect conflicts; absent if the table has no transaction files. */
  readonly transaction: { readonly name: string; readonly bytes: Uint8Array } | undefined
}

/** Fields of `Manifest` in `table.proto`. */
const field = {
  version: 3,
  schemaMetadata: 5,
  indexSection: 6,
  timestamp: 7,
  tag: 8,
  writerFlags: 10,
  transactionFile: 12,
  transactionSection: 21,
} as const

/** Rewritten in the next version; all other fields are copied unchanged, known or not. */
const replacedFields = new Set<number>([
  field.version,
  field.schemaMetadata,
  field.timestamp,
  field.tag,
  field.transactionFile,
  field.transactionSection,
])

/** Table flags that this writer supports: those of the engine's pinned version. */
const knownWriterFlags = 63
const noTransactionFiles = 32

/**
 * Builds the manifest that follows `file`; undefined if the metadata does not change. Throws InvalidInput for bytes
 * that are not a manifest, Unsupported for a table that needs a newer writer.
 */
export function editSchemaMetadata(
  file: Uint8Array,
  changes: MetadataChanges,
  { uuid, millis }: { readonly uuid: string; readonly millis: number },
): { metadata: Readonly<Record<string, string>>; version: number; next: NextManifest | undefined } {
  const current = readCurrent(file)
  if (current.writerFlags > knownWriterFlags) {
    throw new CatalogError('Unsupported', 'the table uses features that this catalog cannot write')
  }
  const metadata = applyChanges(current.metadata, changes)
  if (isSameMap(metadata, current.metadata)) return { metadata, version: current.version, next: undefined }
  const version = current.version + 1
  const transaction = encodeTransaction(current.version, uuid, changes)
  const hasTransactionFiles = (current.writerFlags & noTransactionFiles) === 0
  const name = hasTransactionFiles ? `${current.version}-${uuid}.txn` : undefined
  const message = Buffer.concat([
    ...current.retainedFields,
    ...Object.entries(metadata).map((entry) => encodeBytesField(field.schemaMetadata, encodeEntry(entry))),
    encodeNumberField(field.version, version),
    encodeBytesField(field.timestamp, encodeTimestamp(millis)),
    ...(name === undefined ? [] : [encodeBytesField(field.transactionFile, name)]),
    encodeNumberField(field.transactionSection, current.prefix.length),
  ])
  const next = {
    version,
    file: joinFile(current, transaction, message),
    transaction: name === undefined ? undefined : { name, bytes: transaction },
  }
  return { metadata, version, next }
}

interface CurrentManifest {
  readonly version: number
  readonly writerFlags: number
  readonly metadata: Record<string, string>
  readonly retainedFields: readonly Uint8Array[]
  /** The index section before the transaction; its recorded position stays valid. */
  readonly prefix: Uint8Array
  readonly trailer: Uint8Array
}

function readCurrent(file: Uint8Array): CurrentManifest {
  try {
    const { position, message, trailer } = locateManifest(file)
    const fields = [...readFields(message)]
    const pairs = fields.filter(({ number }) => number === field.schemaMetadata).map(readEntry)
    const indexes = readNumber(fields, field.indexSection)
    const transaction = readNumber(fields, field.transactionSection)
    const isLast = transaction !== undefined && transaction <= position && (indexes ?? -1) < transaction
    return {
      version: readNumber(fields, field.version) ?? 0,
      writerFlags: readNumber(fields, field.writerFlags) ?? 0,
      metadata: Object.fromEntries(pairs),
      retainedFields: fields.filter(({ number }) => !replacedFields.has(number)).map(({ raw }) => raw),
      prefix: file.subarray(0, isLast ? transaction : position),
      trailer,
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw invalidInput('the manifest of the table is damaged', { cause: error })
  }
}

function readNumber(fields: readonly ProtobufField[], wanted: number): number | undefined {
  const found = fields.findLast(({ number }) => number === wanted)
  return found && toNumber(found.value)
}

function readEntry({ value }: ProtobufField): [key: string, value: string] {
  const entry = ['', '']
  for (const { number, value: text } of readFields(toBytes(value))) entry[number - 1] = toText(toBytes(text))
  return [entry[0] ?? '', entry[1] ?? '']
}

function applyChanges(metadata: Record<string, string>, changes: MetadataChanges): Record<string, string> {
  const result = new Map(Object.entries(metadata))
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) result.delete(key)
    else result.set(key, value)
  }
  return Object.fromEntries(result)
}

function isSameMap(left: Record<string, string>, right: Record<string, string>): boolean {
  const keys = Object.keys(left)
  return keys.length === Object.keys(right).length && keys.every((key) => left[key] === right[key])
}

/** Encodes `Transaction` of `transaction.proto`: operation UpdateConfig, field 8 (schema metadata). */
function encodeTransaction(readVersion: number, uuid: string, changes: MetadataChanges): Buffer {
  const entries = Object.entries(changes).map(([key, value]) =>
    encodeBytesField(1, value === null ? encodeBytesField(1, key) : encodeEntry([key, value])),
  )
  const updateConfig = encodeBytesField(8, Buffer.concat(entries))
  return Buffer.concat([
    encodeNumberField(1, readVersion),
    encodeBytesField(2, uuid),
    encodeBytesField(110, updateConfig),
  ])
}

function encodeEntry([key, value]: readonly [string, string]): Buffer {
  return Buffer.concat([encodeBytesField(1, key), encodeBytesField(2, value)])
}

/** Seconds and nanoseconds. */
function encodeTimestamp(millis: number): Buffer {
  return Buffer.concat([
    encodeNumberField(1, Math.floor(millis / 1000)),
    encodeNumberField(2, (millis % 1000) * 1e6),
  ])
}

/** [prefix] [u32 length, transaction] [u32 length, manifest] [i64 its position, and the rest of the trailer]. */
function joinFile(
  { prefix, trailer }: CurrentManifest,
  transaction: Uint8Array,
  message: Uint8Array,
): Buffer {
  const end = Buffer.from(trailer)
  end.writeBigInt64LE(BigInt(prefix.length + 4 + transaction.length), 0)
  return Buffer.concat([prefix, encodeLength(transaction), transaction, encodeLength(message), message, end])
}

function encodeLength(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes.length)
  return length
}
