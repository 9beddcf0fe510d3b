import { readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { beginChain, formatChainLine } from '../records/hash-chain.ts'
import type { SealKey } from '../records/seal-key.ts'
import { createRecord, type UnchainedRecord } from '../records/unchained-record.ts'
import type { FileTampering, IntentReference } from '../records/audit-record.ts'
import type { AuditObserver } from './group-commit.ts'
import type { Recovery } from './recovery.ts'
import { syncFolder } from '../../lib/index.ts'
import { createSegmentFile } from './segment-file.ts'
import { createChainId, formatSegmentName } from '../storage/log-segments.ts'

export const chainBounds = {
  /** Size and age at which a segment is rotated. */
  segmentBytes: 64 * 1024 * 1024,
  segmentMs: 3_600_000,
  /** Maximum number of records between two seals. */
  sealRecords: 1_000,
}

type ChainOptions = typeof chainBounds & {
  readonly key: SealKey
  readonly folder: string
  readonly gateway: string
  readonly software: string
  readonly observer: Partial<AuditObserver>
}

/** Minimum interval of tampering checks; seals also check. A check takes as long as a write, groups come more often. */
export const fileCheckIntervalMs = 20

/** File name suffix of a chain whose first records are not durable yet. */
const openingSuffix = '.opening'

/**
 * Starts a chain after recovery. The file gets its final name only when its first records are durable: the start, an
 * outcome for each unresolved intent of the previous chain, and a seal. So they are written exactly once.
 */
export async function openChain(options: ChainOptions, recovery: Recovery) {
  const { folder, key, sealRecords, segmentBytes, segmentMs, observer } = options
  for (const file of await readdir(folder)) {
    if (file.endsWith(openingSuffix)) await unlink(join(folder, file))
  }
  const chain = createChainId(recovery.newest)
  /** Intents without an outcome, by seq. */
  const unresolved = new Map<number, IntentReference>()
  let index = 0
  const path = join(folder, getFile())
  let segment = await createSegmentFile(path + openingSuffix)
  let segmentStartedAt = performance.now()
  let fileCheckedAt = -Infinity
  /** The durable part, and the number of its records after the last seal. */
  let state = { head: beginChain(chain), unsealed: recovery.unsealed }
  let pendingTamperRecords: UnchainedRecord[] = []
  let tampered = recovery.foreign.length

  function getFile(): string {
    return formatSegmentName(chain, index)
  }

  async function append(records: readonly UnchainedRecord[], isSealed: boolean): Promise<number[]> {
    const leading = await createLeadingRecords(isSealed, records[0]?.time)
    const seqs = await write([...leading, ...records], isSealed)
    pendingTamperRecords = []
    return seqs.slice(leading.length)
  }

  /** Records that precede the next group: detected tampering, or the head of a new segment. */
  async function createLeadingRecords(isSealed: boolean, time?: string): Promise<UnchainedRecord[]> {
    const tampering = await findTampering(isSealed)
    if (tampering !== undefined) {
      const file = getFile()
      // The damaged file stays as evidence; the chain continues in a new one.
      await rotate()
      tampered += 1
      observer.tampered?.(file, tampering)
      pendingTamperRecords.push(createRecord('tampered', { file, what: tampering }, [], time))
    } else if (
      segment.length() >= segmentBytes ||
      (segment.length() > 0 && performance.now() - segmentStartedAt >= segmentMs)
    ) {
      await write([], true, time)
      await rotate()
    }
    if (index === 0 || segment.length() > 0) return [...pendingTamperRecords]
    const open = [...unresolved.values()].map(({ chain: _chain, ...intent }) => intent)
    return [createRecord('segment', { unresolved: open }, [], time), ...pendingTamperRecords]
  }

  async function findTampering(isSealed: boolean): Promise<FileTampering | undefined> {
    const now = performance.now()
    if (!isSealed && now - fileCheckedAt < fileCheckIntervalMs) return undefined
    const tampering = await segment.findTampering()
    if (tampering === undefined) fileCheckedAt = now
    return tampering
  }

  /** Writes records and the seals that are due, and one at the end if there is anything to seal. */
  async function write(
    records: readonly UnchainedRecord[],
    isSealed: boolean,
    time = records.at(-1)?.time,
  ): Promise<number[]> {
    let { head, unsealed } = state
    let text = ''
    const appendLine = (record: UnchainedRecord): void => {
      const { line, end } = formatChainLine(head, record, key)
      text += line
      head = end
    }
    const appendSeal = (at: string | undefined): void => {
      appendLine(createRecord('seal', { leaves: unsealed, within: sealRecords, key: key.id }, [], at))
      unsealed = 0
    }
    const seqs = records.map((record) => {
      appendLine(record)
      const { seq } = head
      unsealed += 1
      if (unsealed >= sealRecords) appendSeal(record.time)
      return seq
    })
    if (isSealed && unsealed > 0) appendSeal(time)
    if (text !== '') await segment.append(Buffer.from(text))
    state = { head, unsealed }
    return seqs
  }

  async function rotate(): Promise<void> {
    await segment.cutLeftover()
    const next = await createSegmentFile(join(folder, formatSegmentName(chain, index + 1)))
    try {
      await syncFolder(folder)
    } catch (error) {
      await next.discard()
      throw error
    }
    const ended = segment
    segment = next
    index += 1
    segmentStartedAt = performance.now()
    await ended.close()
  }

  try {
    const { gateway, software } = options
    const { previous } = recovery
    // Seals here, so that the limit announced by the previous seal holds even if the settings of this gateway differ.
    await write([createRecord('start', { gateway, software, ...(previous && { previous }) })], true)
    await write(createOpeningRecords(recovery), true)
    await segment.rename(path)
    await syncFolder(folder)
  } catch (error) {
    await segment.discard()
    throw error
  }

  return {
    chain,
    /** Maintained by the caller of `append`. */
    unresolved,
    /** The durable part, with the active segment and its length in bytes. */
    status: () => ({ ...state, file: getFile(), length: segment.length(), rotations: index, tampered }),
    /**
     * Makes records and due seals durable as one group, or changes nothing; with `isSealed`, the last of them is a seal.
     * Returns the seqs. Calls must not overlap.
     */
    append,
    async close(): Promise<void> {
      // The next start cuts the rest of a failed write.
      await segment.cutLeftover().catch(() => undefined)
      await segment.close()
    },
  }
}

function createOpeningRecords({ unresolved, repairs, foreign }: Recovery): UnchainedRecord[] {
  return [
    ...repairs.map((repair) => createRecord('recovered', repair)),
    ...foreign.map((body) => createRecord('tampered', body)),
    ...unresolved.map(({ chain: intentChain, seq: intentSeq, request, tables }) => {
      const details = { reason: 'crash' }
      return createRecord('outcome', { request, intentSeq, intentChain, result: 'unknown', details }, tables)
    }),
  ]
}
