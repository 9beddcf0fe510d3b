import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readJournal } from '../../../src/audit/storage/write-ahead-journal.ts'

/** The part of a segment that only the journal makes durable. */
export interface Unsynced {
  readonly path: string
  readonly from: number
  readonly to: number
}

/** Returns the part written since the last checkpoint; undefined if there is none. */
export async function unsyncedPart(folder: string): Promise<Unsynced | undefined> {
  const entries = await readJournal(folder)
  if (typeof entries === 'string') throw new Error(entries)
  const [first, last] = [entries[0], entries.at(-1)]
  if (!first || !last) return undefined
  return { path: join(folder, first.file), from: first.offset, to: last.offset + last.bytes.length }
}

/** Effects of a power failure on data in memory: truncated from some byte on, or replaced by zeros. */
export const losses = {
  'is gone': (part: Unsynced, at: number) => truncateFile(part.path, at),
  'is zeros': ({ path, to }: Unsynced, at: number) => overwrite(path, at, Buffer.alloc(to - at)),
  'is zeros but for its end': ({ path, to }: Unsynced, at: number) =>
    overwrite(path, at, Buffer.alloc(Math.max(0, to - at - 100))),
  'is what stood there before': ({ path, to }: Unsynced, at: number) =>
    overwrite(path, at, Buffer.alloc(to - at, '{"v":1}\n')),
} as const

/** Removes possibly unsynced data from a file; data after it may have been synced. */
export async function cutPower(folder: string): Promise<void> {
  const part = await unsyncedPart(folder)
  if (part === undefined) return
  const { size } = await stat(part.path)
  const loss = losses[size > part.to || Math.random() < 0.5 ? 'is zeros' : 'is gone']
  await loss(part, part.from)
}

async function truncateFile(path: string, length: number): Promise<void> {
  const handle = await open(path, 'r+')
  await handle.truncate(length)
  await handle.close()
}

async function overwrite(path: string, at: number, bytes: Buffer): Promise<void> {
  const handle = await open(path, 'r+')
  await handle.write(bytes, 0, bytes.length, at)
  await handle.close()
}
