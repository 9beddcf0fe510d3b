import { hash } from 'node:crypto'
import { getMembers } from '../../lib/index.ts'
import { idToJson } from './json-text.ts'
import type { UnchainedRecord } from './unchained-record.ts'
import type { AuditRecord, ChainEnd, IntentReference, RecordBodies, RecordReference } from './audit-record.ts'
import type { SealKey, SealVerifier } from './seal-key.ts'

// The hash chain. A record is one line: a JSON object whose first members are those of `RecordFrame` and whose last
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

const zeroHash = '0'.repeat(64)

/** Returns the end of a chain without records. */
export function beginChain(chain: string): ChainEnd {
  return { chain, seq: -1, hash: zeroHash }
}

const hashMember = ',"hash":"'
const proofMembers = { signature: ',"signature":"', mac: ',"mac":"' } as const
const hashLength = 64
const tailLength = hashMember.length + hashLength + '"}'.length

/** Returns the line of the record that follows another one, with its newline, and where the chain ends now. */
export function formatChainLine(
  { chain, seq: last, hash: prev }: ChainEnd,
  record: UnchainedRecord,
  key: SealKey,
): { readonly line: string; readonly end: ChainEnd } {
  const seq = last + 1
  const head = `{"v":1,"kind":"${record.kind}","chain":"${chain}","seq":${seq}`
  const ids = record.tables.map((id) => `{"id":${idToJson(id)}}`).join()
  const tables = ids === '' ? '' : `,"tables":[${ids}]`
  const text = `${head},"time":"${record.time}","prev":"${prev}"${tables},${record.members}`
  const body =
    record.kind === 'seal'
      ? `${text}${proofMembers.signature}${key.sign(text)}"`
      : `${text}${proofMembers.mac}${key.mac(text)}"`
  const digest = hash('sha256', body)
  return { line: `${body}${hashMember}${digest}"}\n`, end: { chain, seq, hash: digest } }
}

/** Parses a line without its newline and checks its hash. Returns a string that describes the problem. */
export function checkLine(bytes: Buffer): AuditRecord | string {
  const end = bytes.length - tailLength
  const tail = bytes.toString('latin1', Math.max(end, 0))
  if (end <= 0 || !tail.startsWith(hashMember) || !tail.endsWith('"}'))
    return 'the line has no hash at its end'
  const digest = tail.slice(hashMember.length, hashMember.length + hashLength)
  if (hash('sha256', bytes.subarray(0, end)) !== digest) return 'the hash does not match the line'
  return parseRecord(bytes.toString('utf8')) ?? notARecord
}

export const notARecord = 'the line is not a record of format version 1'

export function getRecordKey({ chain, seq }: RecordReference): string {
  return `${chain} ${seq}`
}

/** The key of the intent of an outcome or a resolution. */
export function getIntentKey({
  chain,
  intentChain = chain,
  intentSeq,
}: AuditRecord<'outcome' | 'resolved'>): string {
  return getRecordKey({ chain: intentChain, seq: intentSeq })
}

export function getReference({ chain, seq, request, tables = [] }: AuditRecord<'intent'>): IntentReference {
  return { chain, seq, request, tables: tables.map(({ id }) => id) }
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

/** Describes why the record does not follow that one; undefined if it does. */
export function findMisplacement(record: AuditRecord, { chain, seq, hash }: ChainEnd): string | undefined {
  if (record.chain !== chain) return `the record belongs to chain ${record.chain}`
  if (record.seq !== seq + 1) return `expected record ${seq + 1}, found record ${record.seq}`
  if (record.prev !== hash) return 'prev is not the hash of the record before it'
  return undefined
}

/** Parses a line of the log; undefined if it is no record. Its hash and the members of its kind are not verified. */
export function parseRecord(text: string): AuditRecord | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is AuditRecord {
  const { v, kind, chain, seq, time, hash } = getMembers(value)
  const areTexts = [kind, chain, time, hash].every((text) => typeof text === 'string')
  return v === 1 && Number.isSafeInteger(seq) && areTexts
}
