import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { CatalogError } from 'catalog-gateway/catalog-api'
import { encodeMessage, findNumber, findText, type ProtobufField, readFields, toBytes } from './protobuf.ts'
import type { Storage } from '../../storage/storage.ts'
import type { TablePoint } from '../native/open-table.ts'
import { findManifest, formatManifestName, versionsFolder } from './manifest-files.ts'
import { decodeManifest, manifestField } from './manifest.ts'

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
    const newest = await findManifest(storage, { location, branch })
    if (newest === undefined) throw new CatalogError('TableNotFound', 'the table has no data')
    await storage.assertNoLinks(location, folder)
    const file = await storage.read(`${folder}/${formatManifestName(newest.version, newest.namingScheme)}`)
    // Deleted meanwhile, so another version is the newest now.
    if (file === undefined) continue
    const writer = { uuid: randomUUID(), millis: Date.now() }
    const { metadata, next } = editSchemaMetadata(file.bytes, changes, writer)
    if (next === undefined) return metadata
    // Other writers read it to detect conflicts. After an unknown outcome it stays: it is ignored.
    const transaction = `${path.posix.dirname(folder)}/_transactions/${next.transactionName}`
    await storage.create(transaction, next.transaction)
    const name = formatManifestName(next.version, newest.namingScheme)
    if (await storage.create(`${folder}/${name}`, next.file)) return metadata
    await storage.remove(transaction)
  }
  throw new CatalogError('ConcurrentModification', 'too many concurrent changes; retry')
}

export type MetadataChanges = Readonly<Record<string, string | null>>

/** Rewritten in the next version; all other fields are copied unchanged, known or not. */
const replacedFields = new Set<number>([
  manifestField.version,
  manifestField.schemaMetadata,
  manifestField.timestamp,
  manifestField.tag,
  manifestField.transactionFile,
  manifestField.transactionSection,
])

/** Table flags that this writer supports: those of the engine's pinned version. */
const knownWriterFlags = 63

/**
 * Builds the manifest that follows `file`; undefined if the metadata does not change. Throws InvalidInput for bytes
 * that are not a manifest, Unsupported for a table that needs a newer writer.
 */
export function editSchemaMetadata(
  file: Buffer,
  changes: MetadataChanges,
  { uuid, millis }: { readonly uuid: string; readonly millis: number },
) {
  const current = readCurrent(file)
  if (current.writerFlags > knownWriterFlags) {
    throw new CatalogError('Unsupported', 'the table uses features that this catalog cannot write')
  }
  const changed = Object.entries({ ...current.metadata, ...changes })
  const metadata = Object.fromEntries(changed.filter((entry): entry is [string, string] => entry[1] !== null))
  if (isDeepStrictEqual(metadata, current.metadata)) return { metadata, next: undefined }
  const version = current.version + 1
  const transaction = encodeTransaction(current.version, uuid, changes)
  const transactionName = `${current.version}-${uuid}.txn`
  const replaced = encodeMessage(
    ...Object.entries(metadata).map((entry) => [manifestField.schemaMetadata, encodeEntry(entry)] as const),
    [manifestField.version, version],
    // Seconds and nanoseconds.
    [manifestField.timestamp, encodeMessage([1, Math.floor(millis / 1000)], [2, (millis % 1000) * 1e6])],
    [manifestField.transactionFile, transactionName],
    [manifestField.transactionSection, current.prefix.length],
  )
  const message = Buffer.concat([...current.retainedFields, replaced])
  const trailer = Buffer.from(current.trailer)
  // The position of the manifest.
  trailer.writeBigInt64LE(BigInt(current.prefix.length + 4 + transaction.length))
  const parts = [current.prefix, withLength(transaction), withLength(message), trailer]
  return { metadata, next: { version, file: Buffer.concat(parts), transaction, transactionName } }
}

function readCurrent(file: Buffer) {
  return decodeManifest(file, ({ position, fields, trailer }) => {
    const pairs = fields.filter(({ number }) => number === manifestField.schemaMetadata).map(readEntry)
    const indexes = findNumber(fields, manifestField.indexSection)
    const transaction = findNumber(fields, manifestField.transactionSection)
    const isLast = transaction !== undefined && transaction <= position && (indexes ?? -1) < transaction
    return {
      version: findNumber(fields, manifestField.version) ?? 0,
      writerFlags: findNumber(fields, manifestField.writerFlags) ?? 0,
      metadata: Object.fromEntries(pairs),
      retainedFields: fields.filter(({ number }) => !replacedFields.has(number)).map(({ raw }) => raw),
      /** The index section before the transaction; its recorded position stays valid. */
      prefix: file.subarray(0, isLast ? transaction : position),
      trailer,
    }
  })
}

function readEntry(field: ProtobufField): [key: string, value: string] {
  const entry = readFields(toBytes(field))
  return [findText(entry, 1), findText(entry, 2)]
}

/** Encodes `Transaction` of `transaction.proto`: operation UpdateConfig, field 8 (schema metadata). */
function encodeTransaction(readVersion: number, uuid: string, changes: MetadataChanges): Buffer {
  const entries = Object.entries(changes).map((entry) => [1, encodeEntry(entry)] as const)
  return encodeMessage([1, readVersion], [2, uuid], [110, encodeMessage([8, encodeMessage(...entries)])])
}

function encodeEntry([key, value]: readonly [string, string | null]): Buffer {
  return value === null ? encodeMessage([1, key]) : encodeMessage([1, key], [2, value])
}

function withLength(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes.length)
  return Buffer.concat([length, bytes])
}
