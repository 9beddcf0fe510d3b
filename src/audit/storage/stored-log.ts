import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { journalName, readJournal } from './journal.ts'
import { readLines, type FileLine } from '../../lib/fs/read-lines.ts'
import { readJournalTail, type JournalDamage, type JournalTail } from './replay-journal.ts'
import { listChains, type ChainSegments } from './segment-names.ts'

/**
 * A log as it lies in its folder. After a power cut, its end may stand in the journal alone; it is read there, and
 * nothing is changed, so that a copy can be read as it was found.
 */
export interface StoredLog {
  /** Oldest first. */
  readonly chains: readonly ChainSegments[]
  /** What the journal holds of the end of the log; undefined if that is nothing. */
  readonly journal: JournalTail | JournalDamage | undefined
  /** Whether there is a journal: there is none beside a log that ended in order. */
  readonly hasJournal: boolean
  /** The lines of a segment, with what only the journal holds of it. */
  lines(file: string): AsyncIterable<FileLine>
}

/** Opens a log for reading. Rejects when the folder cannot be read. */
export async function openStoredLog(folder: string): Promise<StoredLog> {
  // Before the chains: a segment that a running gateway begins in between is not missed.
  const entries = await readJournal(folder)
  const hasJournal = (await readdir(folder)).includes(journalName)
  const chains = await listChains(folder)
  const journal = await readJournalTail(folder, chains.at(-1), entries)
  return {
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
