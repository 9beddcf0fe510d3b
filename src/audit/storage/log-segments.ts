import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreMissing, readLines } from '../../lib/index.ts'
import type { AuditRecord, ChainEnd, RecordReference } from '../records/audit-record.ts'
import { beginChain, checkLine } from '../records/hash-chain.ts'

const segmentNamePattern = /^(\d{8,}-[0-9a-f]{12})-\d{4,}\.jsonl$/

/** Creates the id of the chain after `newest`: a number, so that names sort by age, and a random part that makes it unique. */
export function createChainId(newest = '-1'): string {
  const ordinal = Number.parseInt(newest, 10) + 1
  return `${String(ordinal).padStart(8, '0')}-${randomBytes(6).toString('hex')}`
}

/** Formats the file name of a segment; `index` counts from 0 within the chain. */
export function formatSegmentName(chain: string, index: number): string {
  return `${chain}-${String(index).padStart(4, '0')}.jsonl`
}

/** Compares the names of segments, or the ids of chains: negative if the first is older. They need not exist. */
export const { compare: compareByAge } = new Intl.Collator('en', { numeric: true })

/** Lists the segments of a folder, oldest first, regardless of the clock. Ignores other files. */
export async function listSegmentFiles(folder: string) {
  return (await readdir(folder)).toSorted(compareByAge).flatMap((file) => {
    const chain = segmentNamePattern.exec(file)?.[1]
    return chain === undefined ? [] : [{ file, chain }]
  })
}

/** A file of the log. Its first record names the one that it follows, under the next seal. */
export interface LogSegment {
  readonly file: string
  readonly chain: string
  /** The record that the next segment follows: lines behind it are foreign. Undefined in the newest segment. */
  readonly end: ChainEnd | undefined
  /** Whether no record of the file belongs to the log. */
  readonly isForeign: boolean
  /** Undefined if the file is empty or its first line is damaged. */
  readonly firstSeq: number | undefined
  /** Time of the first record behind the segment, in milliseconds; undefined if there is none. */
  readonly endTime: number | undefined
}

/** A clock that is set back by less hides no record. */
const maxClockStepMs = 3_600_000
const headBytes = 4 * 1024

/** Lists the segments of a log, oldest first. Reads the first line of each. */
export async function listSegments(folder: string): Promise<readonly LogSegment[]> {
  const files = await listSegmentFiles(folder)
  const found: LogSegment[] = []
  let end: ChainEnd | undefined
  let endTime: number | undefined
  for (const { chain, file } of files.toReversed()) {
    const first = await readFirstRecord(join(folder, file))
    const isForeign = end !== undefined && first !== undefined && isBehind(first, end)
    found.push({ file, chain, end, isForeign, firstSeq: first?.seq, endTime })
    if (first === undefined || isForeign) continue
    end = getPreceding(first)
    endTime = Date.parse(first.time)
  }
  return found.toReversed()
}

/** Leaves out the segments that another one followed more than an hour before a time. */
export function skipSegmentsBefore(segments: readonly LogSegment[], since: Date | undefined): LogSegment[] {
  const from = since === undefined ? -Infinity : since.getTime() - maxClockStepMs
  return segments.filter(({ endTime = Infinity }) => !(endTime < from))
}

/** Whether a record of the file lies behind the end of the log there, by its number. */
export function isForeignRecord({ end, isForeign }: LogSegment, { chain, seq }: RecordReference): boolean {
  return isForeign || (end !== undefined && chain === end.chain && seq > end.seq)
}

function isBehind({ chain, seq }: AuditRecord, end: ChainEnd): boolean {
  return chain === end.chain ? seq > end.seq : compareByAge(chain, end.chain) > 0
}

/** A start without a previous chain follows nothing. */
function getPreceding(first: AuditRecord): ChainEnd {
  if (first.kind === 'start') return first.previous ?? beginChain('')
  return { chain: first.chain, seq: first.seq - 1, hash: first.prev }
}

/** Undefined if the file is empty or its first line is damaged, or if retention has just removed it. */
async function readFirstRecord(path: string): Promise<AuditRecord | undefined> {
  try {
    for await (const { bytes } of readLines(path, { readBytes: headBytes })) {
      const checked = checkLine(bytes)
      return typeof checked === 'object' ? checked : undefined
    }
  } catch (error) {
    ignoreMissing(error)
  }
  return undefined
}
