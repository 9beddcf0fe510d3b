import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { journalName, readJournal } from './write-ahead-journal.ts'
import { readLines, type FileLine } from '../../lib/fs/read-lines.ts'
import { readJournalTail, type JournalDamage, type JournalTail } from './restore-from-journal.ts'
import { listChains, type ChainSegments } from './segment-names.ts'

/** A log opened for reading. Its end may be in the journal only (after a power failure); reading changes no file. */
export interface StoredLog {
  readonly folder: string
  /** Oldest first. */
  readonly chains: readonly ChainSegments[]
  /** Part of the journal that belongs to the end of the log; undefined if there is none. */
  readonly journal: JournalTail | JournalDamage | undefined
  /** Whether a journal exists; a clean shutdown removes it. */
  readonly hasJournal: boolean
  /** Reads the lines of a segment, including those that only the journal contains. */
  lines(file: string): AsyncIterable<FileLine>
}

export async function openStoredLog(folder: string): Promise<StoredLog> {
  // Read before the chains, so that a segment that a running gateway starts in between is not missed.
  const entries = await readJournal(folder)
  const hasJournal = (await readdir(folder)).includes(journalName)
  const chains = await listChains(folder)
  const journal = await readJournalTail(folder, chains.at(-1), entries)
  return {
    folder,
    chains,
    journal,
    hasJournal,
    lines: (file) =>
      readLines(
        join(folder, file),
        journal && 'bytes' in journal && journal.file === file ? journal : undefined,
      ),
  }
}
