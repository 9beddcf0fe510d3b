import { hash } from 'node:crypto'
import { getMembers } from '../../lib/index.ts'
import { idToJson } from './json-text.ts'
import type { UnchainedRecord } from './unchained-record.ts'
import type { AuditRecord, RecordBodies, RecordHead } from './audit-record.ts'
import type { SealKey, SealVerifier } from './seal-key.ts'

// The hash chain. A record is one line: a JSON object whose first members are those of `RecordHead` and whose last
// member is `hash`: SHA-256, in lower-case hex, over the bytes of the line before `,"hash":"`. It is the `prev` of the
// next record. The hashed bytes contain `prev`, and the bytes after them are fixed, so the hash of a record covers every
// byte of the chain up to it: a changed byte is detected in its own line, including the last one; a removed, added,
// duplicated or moved line is detected by `prev` and `seq`.
//
// A hash chain alone does not protect against writers of the files, who can replace a record and recompute all later
// hashes. Therefore a record of kind `seal` contains the member `signature` before its hash: an Ed25519 signature over
// the bytes of the line before `,"signature":"`. It covers all records before it, including earlier chains, because each
// start record contains the end of the previous chain. Every other record contains the member `mac` in this place: an HMAC
// over the bytes before it, with a key that only holders of the seal key can derive. By it, the next start distinguishes
// records that a crash has left unsealed from those of another writer. A truncated log is detected only from outside, with
// a head that was stored elsewhere.

export interface ChainPosition {
  readonly chain: string
  readonly seq: number
  readonly prev: string
}

export const zeroHash = '0'.repeat(64)

const hashMember = ',"hash":"'
const proofMembers = { signature: ',"signature":"', mac: ',"mac":"' } as const
const hashLength = 64
const tailLength = hashMember.length + hashLength + '"}'.length

/** Returns the line with its newline, and its hash. */
export function formatChainLine(
  position: ChainPosition,
  record: UnchainedRecord,
  key: SealKey,
): { line: string; hash: string } {
  const head = `{"v":1,"kind":"${record.kind}","chain":"${position.chain}","seq":${position.seq}`
  const ids = record.tables.map((id) => `{"id":${idToJson(id)}}`).join()
  const tables = ids === '' ? '' : `,"tables":[${ids}]`
  const text = `${head},"time":"${record.time}","prev":"${position.prev}"${tables},${record.members}`
  const body =
    record.kind === 'seal'
      ? `${text}${proofMembers.signature}${key.sign(text)}"`
      : `${text}${proofMembers.mac}${key.mac(text)}"`
  const digest = hash('sha256', body)
  return { line: `${body}${hashMember}${digest}"}\n`, hash: digest }
}

export interface CheckedLine {
  readonly record: AuditRecord
  readonly hash: string
}

/** Parses a line without its newline and checks its hash. Returns a string that describes the problem. */
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

export function formatRecordKey(chain: string, seq: number): string {
  return `${chain} ${seq}`
}

/** Whether the signature of a seal is valid. */
export function isSigned(line: Buffer, { signature = '' }: RecordBodies['seal'], key: SealVerifier): boolean {
  return key.verify(getTextBefore(line, proofMembers.signature), signature)
}

/** Whether a record was written with this key. */
export function isWrittenWith(line: Buffer, record: AuditRecord, key: SealKey): boolean {
  if (record.kind === 'seal') return isSigned(line, record, key)
  return record.mac !== undefined && record.mac === key.mac(getTextBefore(line, proofMembers.mac))
}

function getTextBefore(line: Buffer, member: string): string {
  const text = line.toString('utf8')
  return text.slice(0, text.lastIndexOf(member))
}

/** Describes why the record does not belong at that position; undefined if it does. */
export function findMisplacement(record: RecordHead, position: ChainPosition): string | undefined {
  if (record.chain !== position.chain) return `the record belongs to chain ${record.chain}`
  if (record.seq !== position.seq) return `expected record ${position.seq}, found record ${record.seq}`
  if (record.prev !== position.prev) return 'prev is not the hash of the record before it'
  return undefined
}

/** Parses a record of this format; undefined for other text. The members of each kind are not validated. */
export function parseRecord(text: string): AuditRecord | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is AuditRecord {
  const { v, kind, chain, seq } = getMembers(value)
  return v === 1 && typeof kind === 'string' && typeof chain === 'string' && Number.isSafeInteger(seq)
}
