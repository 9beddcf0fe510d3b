import {
  type AuditRecord,
  type DurableEnd,
  listSegments,
  readNewestRecords,
  type SelectedRecord,
} from '../../audit/index.ts'
import { type AuditEntry, collectEntries } from './audit-entries.ts'

interface NewestEntries {
  /** Changes and refusals, the newest first. */
  readonly entries: readonly AuditEntry[]
  readonly seal: { readonly seq: number; readonly time: string } | undefined
}

const maxEntries = 50
const maxBytes = 1024 * 1024

/**
 * Reads the newest changes and refusals of the last MiB of the log on request; rejects if a file cannot be read. Records are
 * not verified: that is the task of `audit verify`.
 */
export function createNewestEntriesReader(
  folder: string,
  durable: () => DurableEnd,
): () => Promise<NewestEntries> {
  let segments: Awaited<ReturnType<typeof listSegments>> = []
  let last:
    | { readonly length: number; readonly file: string; readonly read: Promise<NewestEntries> }
    | undefined

  async function read(file: string): Promise<NewestEntries> {
    // Listing opens every file of the log.
    if (segments.at(-1)?.file !== file) segments = await listSegments(folder)
    let seal: NewestEntries['seal']
    async function* select(): AsyncGenerator<SelectedRecord, void> {
      for await (const record of readNewestRecords(folder, segments, maxBytes)) {
        if (record.kind === 'seal') seal = { seq: record.seq, time: record.time }
        if (!isRead(record)) yield { record }
      }
    }
    return { entries: await collectEntries(select(), maxEntries), seal }
  }

  return () => {
    const { file, length } = durable()
    if (last?.file === file && last.length === length) return last.read
    last = { file, length, read: read(file) }
    last.read.catch(() => (last = undefined))
    return last.read
  }
}

function isRead(record: AuditRecord): boolean {
  return record.kind === 'intent' && record.effect === 'read'
}
