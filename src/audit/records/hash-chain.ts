import { hash } from 'node:crypto'
import type { UnchainedRecord } from './unchained-record.ts'
import type { AuditRecord, RecordHead } from './audit-record.ts'

// The hash chain. A record is one line: a JSON object whose first members are those of `RecordHead` and whose last
// member is `hash`: SHA-256, in lower-case hex, over the bytes of the line before `,"hash":"`. The `prev` of the
// next record is this hash. As the hashed bytes hold `prev`, and what follows them is fixed, the hash of a record
// binds every byte of the chain up to there: a changed byte is found in its own line, the last line included; a
// removed, added, doubled or moved line is found by `prev` and `seq`.
//
// What a hash chain alone cannot show: whoever can write the files can also compute hashes, and so replace a record
// together with all that follow it. Therefore seals: a record of kind `seal` has the member `signature` before its
// hash, an Ed25519 signature over the bytes of the line before `,"signature":"`. It binds all that stands before it,
// in earlier chains too, as each start record names the end of the chain before. What follows the last seal is bound
// by nothing yet; that the log was cut at a seal shows only from outside, by a head that was noted elsewhere.

/** The place of the next record in a chain. */
export interface ChainPosition {
  readonly chain: string
  readonly seq: number
  readonly prev: string
}

/** The `prev` of the first record of a chain. */
export const zeroHash = '0'.repeat(64)

const hashMember = ',"hash":"'
const signatureMember = ',"signature":"'
const hashLength = 64
const tailLength = hashMember.length + hashLength + '"}'.length

/**
 * A record in its place of the chain: its line, with the newline, and the hash that the next one refers to.
 * `tables` are its links as JSON, empty where it has none. A seal is signed.
 */
export function formatChainLine(
  position: ChainPosition,
  record: UnchainedRecord,
  tables: string,
  sign?: (text: string) => string,
): { line: string; hash: string } {
  const head = `{"v":1,"kind":"${record.kind}","chain":"${position.chain}","seq":${position.seq}`
  const links = tables === '' ? '' : `,"tables":${tables}`
  const text = `${head},"time":"${record.time}","prev":"${position.prev}"${links},${record.members}`
  const body = sign ? `${text}${signatureMember}${sign(text)}"` : text
  const digest = hash('sha256', body)
  return { line: `${body}${hashMember}${digest}"}\n`, hash: digest }
}

/** A record read back, true to its own hash. */
export interface CheckedLine {
  readonly record: AuditRecord
  readonly hash: string
}

/** Reads one line (without its newline) and checks it by itself; a string says what is wrong with it. */
export function checkLine(bytes: Buffer): CheckedLine | string {
  const end = bytes.length - tailLength
  const tail = bytes.toString('latin1', Math.max(end, 0))
  if (end <= 0 || !tail.startsWith(hashMember) || !tail.endsWith('"}'))
    return 'the line has no hash at its end'
  const digest = tail.slice(hashMember.length, hashMember.length + hashLength)
  if (hash('sha256', bytes.subarray(0, end)) !== digest) return 'the hash does not match the line'
  const record = parseRecord(bytes.toString('utf8'))
  return record === undefined ? 'the line is not a record of format version 1' : { record, hash: digest }
}

/** Names a record among those of all chains. */
export function formatRecordKey(chain: string, seq: number): string {
  return `${chain} ${seq}`
}

/** What the signature of a seal was made over: the line, less what stands from the signature on. */
export function getSignedText(line: Buffer): string {
  const text = line.toString('utf8')
  return text.slice(0, text.lastIndexOf(signatureMember))
}

/** What is wrong with the record in that place, in words; undefined where it belongs there. */
export function findMisplacement(record: RecordHead, position: ChainPosition): string | undefined {
  if (record.chain !== position.chain) return `the record belongs to chain ${record.chain}`
  if (record.seq !== position.seq) return `expected record ${position.seq}, found record ${record.seq}`
  if (record.prev !== position.prev) return 'prev is not the hash of the record before it'
  return undefined
}

/** A record of this format; undefined for what is none. The members of each kind are taken at its word. */
export function parseRecord(text: string): AuditRecord | undefined {
  try {
    const value = JSON.parse(text) as Partial<AuditRecord> | null
    const isRecord =
      value?.v === 1 &&
      typeof value.kind === 'string' &&
      typeof value.chain === 'string' &&
      Number.isSafeInteger(value.seq)
    return isRecord ? (value as AuditRecord) : undefined
  } catch {
    return undefined
  }
}
