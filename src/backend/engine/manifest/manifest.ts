import { invalidInput } from 'catalog-gateway/catalog-api'
import { readFields } from './protobuf.ts'

/** The content of a manifest file, and of its transaction as far as it contains it. */
export interface TableManifest {
  readonly version: number
  /** Absent: the main branch. */
  readonly branch: string | undefined
  readonly fragments: number
  readonly deletedRows: number
  readonly readVersion?: number | undefined
  /** `Append`, `Delete`, `Overwrite`. */
  readonly transactionKind?: string | undefined
  /** A UUID. */
  readonly transactionId?: string | undefined
}

/** The file: [index section] [transaction] [u32 length, manifest] [i64 its position, u16 major, u16 minor, magic]. */
const trailerLength = 16
const magic = 'LANC'
const transactionFileName = /^(\d{1,15})-([0-9a-f-]{36})\.txn$/

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

/** Decodes a Lance manifest file. Throws InvalidInput for other bytes. */
export function parseManifest(file: Buffer): TableManifest {
  try {
    return decodeManifest(file)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw invalidInput('not a Lance manifest, or a damaged one', { cause: error })
  }
}

function decodeManifest(file: Buffer): TableManifest {
  const { transactionPosition, transactionFile, ...found } = collectFields(locateManifest(file).message)
  if (transactionPosition !== undefined) {
    return { ...found, ...parseTransaction(readLengthPrefixed(file, transactionPosition)) }
  }
  // That of an older writer is in a file of its own, whose name has these members of it.
  const [, readVersion, transactionId] = transactionFileName.exec(transactionFile) ?? []
  return { ...found, ...(readVersion && { readVersion: Number(readVersion), transactionId }) }
}

/** `position` is that of the message's length. Throws a RangeError for bytes that are not a manifest file. */
export function locateManifest(file: Buffer) {
  if (file.toString('latin1', file.length - magic.length) !== magic) throw new RangeError('no magic')
  const position = Number(file.readBigInt64LE(file.length - trailerLength))
  const message = readLengthPrefixed(file, position)
  const end = position + 4 + message.length
  if (end + trailerLength !== file.length) throw new RangeError('lengths disagree')
  return { position, message, trailer: file.subarray(end) }
}

/** Maps the main branch to undefined. */
export function omitMainBranch(branch: string | undefined): string | undefined {
  return branch === undefined || branch === '' || branch === 'main' ? undefined : branch
}

/** Collects the fields by their numbers in `table.proto`. */
function collectFields(message: Buffer) {
  let version = 0
  let branch: string | undefined
  let transactionPosition: number | undefined
  let transactionFile = ''
  let fragments = 0
  let deletedRows = 0
  for (const { number, value } of readFields(message)) {
    if (number === 3) version = toNumber(value)
    else if (number === 20) branch = toBytes(value).toString()
    else if (number === 12) transactionFile = toBytes(value).toString()
    else if (number === 21) transactionPosition = toNumber(value)
    else if (number === 2) {
      fragments++
      deletedRows += countDeletedRows(toBytes(value))
    }
  }
  return {
    version,
    branch: omitMainBranch(branch),
    transactionPosition,
    transactionFile,
    fragments,
    deletedRows,
  }
}

function countDeletedRows(fragment: Buffer): number {
  for (const { number, value } of readFields(fragment)) {
    if (number !== 3) continue
    for (const field of readFields(toBytes(value))) if (field.number === 4) return toNumber(field.value)
  }
  return 0
}

function parseTransaction(message: Buffer) {
  // Protobuf omits a zero.
  let readVersion = 0
  let transactionKind: string | undefined
  let transactionId: string | undefined
  for (const { number, value } of readFields(message)) {
    if (number === 1) readVersion = toNumber(value)
    else if (number === 2) transactionId = toBytes(value).toString()
    else transactionKind ??= transactionKinds.get(number)
  }
  return { readVersion, transactionKind, transactionId }
}

function readLengthPrefixed(file: Buffer, position: number): Buffer {
  const end = position + 4 + file.readUInt32LE(position)
  if (end > file.length) throw new RangeError('a part ends outside of the file')
  return file.subarray(position + 4, end)
}

/** Converts a field to a number. Throws a RangeError for other types and for unsafe integers. */
export function toNumber(value: bigint | Buffer): number {
  const number = Number(value)
  if (typeof value !== 'bigint' || !Number.isSafeInteger(number)) throw new RangeError('not a safe number')
  return number
}

/** Throws a RangeError for a number. */
export function toBytes(value: bigint | Buffer): Buffer {
  if (typeof value === 'bigint') throw new RangeError('a number where bytes were expected')
  return value
}
