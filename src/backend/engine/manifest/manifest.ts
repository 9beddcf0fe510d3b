import { invalidInput } from 'catalog-gateway/catalog-api'
import { findNumber, findText, type ProtobufField, readFields, toBytes } from './protobuf.ts'

/** The file: [index section] [transaction] [u32 length, manifest] [i64 its position, u16 major, u16 minor, magic]. */
const trailerLength = 16
const magic = 'LANC'
const transactionFileName = /^(\d{1,15})-([0-9a-f-]{36})\.txn$/

/** Fields of `Manifest` in `table.proto`. */
export const manifestField = {
  fragments: 2,
  version: 3,
  schemaMetadata: 5,
  indexSection: 6,
  timestamp: 7,
  tag: 8,
  writerFlags: 10,
  transactionFile: 12,
  branch: 20,
  transactionSection: 21,
} as const

/** The kinds of transactions by field number in `transaction.proto`. */
const transactionKinds = new Map([
  [100, 'Append'],
  [101, 'Delete'],
  [102, 'Overwrite'],
  [103, 'CreateIndex'],
  [104, 'Rewrite'],
  [105, 'Merge'],
  [106, 'Restore'],
  [107, 'ReserveFragments'],
  [108, 'Update'],
  [109, 'Project'],
  [110, 'UpdateConfig'],
  [111, 'DataReplacement'],
  [112, 'UpdateMemWalState'],
  [113, 'Clone'],
  [114, 'UpdateBases'],
])

/** Decodes a Lance manifest file, and its transaction as far as it contains that. Throws InvalidInput for other bytes. */
export function parseManifest(file: Buffer) {
  return decodeManifest(file, ({ fields }) => {
    const fragments = fields.filter(({ number }) => number === manifestField.fragments)
    return {
      version: findNumber(fields, manifestField.version) ?? 0,
      branch: omitMainBranch(findText(fields, manifestField.branch)),
      fragments: fragments.length,
      deletedRows: fragments.map(countDeletedRows).reduce((sum, rows) => sum + rows, 0),
      ...readTransaction(file, fields),
    }
  })
}

/** Returns what `read` finds in a Lance manifest file. Throws InvalidInput for other bytes, and its RangeErrors as that. */
export function decodeManifest<Found>(
  file: Buffer,
  read: (manifest: ReturnType<typeof locateManifest>) => Found,
): Found {
  try {
    return read(locateManifest(file))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw invalidInput('not a Lance manifest, or a damaged one', { cause: error })
  }
}

/** `position` is that of the message's length. */
function locateManifest(file: Buffer) {
  if (file.toString('latin1', file.length - magic.length) !== magic) throw new RangeError('no magic')
  const position = Number(file.readBigInt64LE(file.length - trailerLength))
  const message = readLengthPrefixed(file, position)
  const end = position + 4 + message.length
  if (end + trailerLength !== file.length) throw new RangeError('lengths disagree')
  return { position, fields: readFields(message), trailer: file.subarray(end) }
}

/** Maps the main branch to undefined. */
export function omitMainBranch(branch: string | undefined): string | undefined {
  return branch === undefined || branch === '' || branch === 'main' ? undefined : branch
}

function countDeletedRows(fragment: ProtobufField): number {
  const deletionFile = readFields(toBytes(fragment)).findLast(({ number }) => number === 3)
  return deletionFile === undefined ? 0 : (findNumber(readFields(toBytes(deletionFile)), 4) ?? 0)
}

function readTransaction(file: Buffer, manifest: readonly ProtobufField[]) {
  const position = findNumber(manifest, manifestField.transactionSection)
  if (position === undefined) {
    // That of an older writer is in a file of its own, whose name has these members of it.
    const name = findText(manifest, manifestField.transactionFile)
    const [, readVersion, transactionId] = transactionFileName.exec(name) ?? []
    return { readVersion: readVersion ? Number(readVersion) : undefined, transactionId }
  }
  const fields = readFields(readLengthPrefixed(file, position))
  return {
    // Protobuf omits a zero.
    readVersion: findNumber(fields, 1) ?? 0,
    transactionId: findText(fields, 2) || undefined,
    /** `Append`, `Delete`, `Overwrite`. */
    transactionKind: fields.flatMap(({ number }) => transactionKinds.get(number) ?? [])[0],
  }
}

function readLengthPrefixed(file: Buffer, position: number): Buffer {
  const end = position + 4 + file.readUInt32LE(position)
  if (end > file.length) throw new RangeError('a part ends outside of the file')
  return file.subarray(position + 4, end)
}
