import { readdir, unlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { beginChain, formatChainLine } from '../records/hash-chain.ts'
import type { SealKey } from '../records/seal-key.ts'
import { createRecord, type UnchainedRecord } from '../records/unchained-record.ts'
import type { FileTampering, IntentReference } from '../records/audit-record.ts'
import type { AuditObserver } from './group-commit.ts'
import type { Recovery } from './recovery.ts'
import { syncFolder } from '../../lib/index.ts'
import { SegmentFile } from './segment-file.ts'
import { createChainId, formatSegmentName } from '../storage/log-segments.ts'

interface ChainOptions {
  readonly sealRecords: number
  readonly key: SealKey
  readonly folder: string
  readonly gateway: string
  readonly software: string
  /** A segment is rotated when it reaches this size or `segmentMs`. */
  readonly segmentBytes: number
  readonly segmentMs: number
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
  const chain = createChainId(recovery.nextOrdinal)
  /** Intents without an outcome, by seq. */
  const unresolved = new Map<number, IntentReference>()
  let index = 0
  const path = join(folder, getFile())
  let segment = await SegmentFile.create(path + openingSuffix)
  let segmentStartedAt = performance.now()
  let fileCheckedAt = -Infinity
  /** The durable part, and the number of its records after the last seal. */
  let state = { head: beginChain(chain), unsealed: recovery.unsealed }
  let pendingTamperRecords: UnchainedRecord[] = []

  function getFile(): string {
    return formatSegmentName(chain, index)
  }

  async function append(records: readonly UnchainedRecord[]): Promise<number[]> {
    const [first, last] = [records[0], records.at(-1)]
    const leading = await createLeadingRecords(last?.kind === 'seal', first?.time)
    const seqs = await write([...leading, ...records])
    pendingTamperRecords = []
    return seqs.slice(leading.length)
  }

  /** Records that precede the next group: detected tampering, or the head of a new segment. */
  async function createLeadingRecords(isEnd: boolean, time: string | undefined): Promise<UnchainedRecord[]> {
    const tampering = await findTampering(isEnd)
    if (tampering !== undefined) {
      const file = getFile()
      const isRestored = tampering !== 'resized'
      const foreign = isRestored ? await segment.restore() : undefined
      observer.tampered?.(file, tampering)
      // A file changed in place cannot be restored: it is retained as evidence, and the chain continues in a new file.
      if (!isRestored) await rotate()
      const named = foreign === undefined ? {} : { foreign: basename(foreign) }
      pendingTamperRecords.push(
        createRecord('tampered', { file, what: tampering, restored: isRestored, ...named }, [], time),
      )
    } else if (
      segment.length >= segmentBytes ||
      (segment.length > 0 && performance.now() - segmentStartedAt >= segmentMs)
    ) {
      await write([createSealRequest(time)])
      await rotate()
    }
    if (index === 0 || segment.length > 0) return [...pendingTamperRecords]
    const open = [...unresolved.values()].map(pickOpenIntent)
    return [createRecord('segment', { unresolved: open }, [], time), ...pendingTamperRecords]
  }

  async function findTampering(isEnd: boolean): Promise<FileTampering | undefined> {
    const now = performance.now()
    const isDue = isEnd || now - fileCheckedAt >= fileCheckIntervalMs
    // The file of an opening chain is not visible under its final name yet.
    if (state.head.seq < 0 || !isDue) return undefined
    const tampering = await segment.findTampering()
    if (tampering === undefined) fileCheckedAt = now
    return tampering
  }

  /** Writes records and the seals that are due; not the requested ones if there is nothing to seal. */
  async function write(records: readonly UnchainedRecord[]): Promise<number[]> {
    let { head, unsealed } = state
    let text = ''
    const appendLine = (record: UnchainedRecord): void => {
      const { line, end } = formatChainLine(head, record, key)
      text += line
      head = end
    }
    const seqs = records.map((record) => {
      const seq = head.seq + 1
      const isRequest = record.kind === 'seal'
      if (!isRequest) {
        appendLine(record)
        unsealed += 1
      }
      if (isRequest ? unsealed > 0 : unsealed >= sealRecords) {
        const seal = { leaves: unsealed, within: sealRecords, key: key.id }
        appendLine(createRecord('seal', seal, [], record.time))
        unsealed = 0
      }
      return seq
    })
    if (text !== '') await segment.append(Buffer.from(text))
    state = { head, unsealed }
    return seqs
  }

  async function rotate(): Promise<void> {
    await segment.cutLeftover()
    const next = await SegmentFile.create(join(folder, formatSegmentName(chain, index + 1)))
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
    await append([...createOpeningRecords(options, recovery), createSealRequest()])
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
    status: () => ({ ...state, file: getFile(), length: segment.length, rotations: index }),
    /** Makes records and due seals durable as one group, or changes nothing. Returns the seqs. Calls must not overlap. */
    append,
    async close(): Promise<void> {
      // What a failed write has left, the next start cuts.
      await segment.cutLeftover().catch(() => undefined)
      await segment.close()
    },
  }
}

function pickOpenIntent({ seq, request, tables }: IntentReference): Omit<IntentReference, 'chain'> {
  return { seq, request, tables }
}

function createOpeningRecords(
  { gateway, software }: ChainOptions,
  { previous, unresolved, repairs, foreign }: Recovery,
): UnchainedRecord[] {
  return [
    createRecord('start', { gateway, software, ...(previous && { previous }) }),
    // Seals here, so that the limit announced by the previous seal holds even if the settings of this gateway differ.
    createSealRequest(),
    ...repairs.map((repair) => createRecord('recovered', repair)),
    ...foreign.map((body) => createRecord('tampered', body)),
    ...unresolved.map(({ chain: intentChain, seq: intentSeq, request, tables }) => {
      const details = { reason: 'crash' }
      return createRecord('outcome', { request, intentSeq, intentChain, result: 'unknown', details }, tables)
    }),
  ]
}

/** Requests a seal at this position; ignored if there are no unsealed records. */
export function createSealRequest(time?: string): UnchainedRecord {
  return createRecord('seal', { leaves: 0, within: 0, key: '' }, [], time)
}
