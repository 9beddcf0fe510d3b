import fc from 'fast-check'
import { readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { decodeEntries, encodeEntry, type JournalEntry } from '../../../src/audit/storage/journal-entry.ts'
import {
  Journal,
  journalBytes,
  journalName,
  readJournal,
} from '../../../src/audit/storage/write-ahead-journal.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const file = '00000000-0123456789ab-0000.jsonl'
const lines = (length: number, text = '{"v":1}\n') => Buffer.alloc(length, text)

/** Contiguous entries of those lengths, and the journal that contains them. */
function journalOf(
  generation: number,
  lengths: readonly number[],
): { entries: JournalEntry[]; content: Buffer } {
  const entries: JournalEntry[] = []
  const parts: Buffer[] = []
  let offset = 0
  for (const length of lengths) {
    const entry = { generation, file, offset, bytes: lines(length, `{"v":${generation}}\n`) }
    const buffer = Buffer.alloc(32_768)
    parts.push(buffer.subarray(0, encodeEntry(buffer, entry)))
    entries.push(entry)
    offset += length
  }
  return { entries, content: Buffer.concat(parts) }
}

/** Comparing buffers byte by byte is slow. */
const readable = (entries: readonly JournalEntry[] | string) =>
  typeof entries === 'string' ? entries : entries.map((entry) => ({ ...entry, bytes: String(entry.bytes) }))

const someLengths = fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 6 })

it('reads back what was written, and nothing from before', () => {
  fc.assert(
    fc.property(someLengths, someLengths, (before, now) => {
      const [old, { entries, content }] = [journalOf(1, before), journalOf(2, now)]
      const disk = Buffer.concat([content, old.content.subarray(content.length)])
      expect(readable(decodeEntries(disk))).toEqual(readable(entries))
    }),
    { numRuns: 50 },
  )
})

it('ignores an entry truncated at any byte, and reads those before it', () => {
  const { entries, content } = journalOf(2, [5_000, 300, 4_200])
  const old = journalOf(1, [3_000, 3_000, 3_000, 3_000, 3_000]).content
  const begin = content.length - 8_192
  // Data after the bytes of the entry is ignored.
  const end = content.findLastIndex((byte) => byte !== 0) + 1
  for (let at = begin; at < content.length; at += 1) {
    const disk = Buffer.concat([content.subarray(0, at), old.subarray(at)])
    const found = decodeEntries(disk) as JournalEntry[]
    const isWhole = disk.subarray(0, end).equals(content.subarray(0, end))
    if (found.length !== (isWhole ? 3 : 2)) expect({ at, found: found.length }).toBeUndefined()
  }
  expect(decodeEntries(content)).toEqual(entries)
})

it('ignores an entry with any changed byte', () => {
  const { content } = journalOf(1, [200, 200])
  for (let at = 0; at < 240; at += 1) {
    const changed = Buffer.from(content)
    changed[4_096 + at] = (changed[4_096 + at] ?? 0) ^ 4
    if ((decodeEntries(changed) as JournalEntry[]).length !== 1) expect({ at }).toBeUndefined()
  }
})

it('if the first entry of a generation is torn, reads the rest of the previous one', () => {
  const [old, { content }] = [journalOf(1, [3_000, 3_000, 3_000]), journalOf(2, [6_000])]
  const disk = Buffer.concat([content.subarray(0, 4_096), old.content.subarray(4_096)])
  expect(decodeEntries(disk)).toEqual(old.entries.slice(1))
})

it('text of records never looks like an entry', () => {
  const { content } = journalOf(9, [10])
  const text = Buffer.from(JSON.stringify({ note: content.toString('latin1', 0, 60) }))
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 100 }), (shift) => {
      const { entries, content } = journalOf(1, [10])
      const lookalike = Buffer.concat([content, Buffer.alloc(shift, ' '), text])
      expect(decodeEntries(lookalike)).toEqual(entries)
    }),
  )
})

it.each([
  ['of a later format', Buffer.from('\u0001CGJ2')],
  ['something else', Buffer.from('{"v":1}\n')],
])('does not read a file that is %s', (_, begin) => {
  const content = Buffer.concat([begin, Buffer.alloc(8_192)])
  expect(decodeEntries(content)).toBe('not a journal of format version 1')
})

it('the file never grows, and starts over when all its contents are synced', async () => {
  const folder = await temporaryFolder()
  const journal = await Journal.create(folder)
  const size = async () => (await readFile(join(folder, journalName))).length
  expect([await size(), await readJournal(folder)]).toEqual([journalBytes, []])
  const bytes = lines(100_000)
  let offset = 0
  for (; journal.hasRoom(file, bytes.length); offset += bytes.length)
    await journal.write({ file, offset, bytes })
  expect(await readJournal(folder)).toHaveLength(10)
  journal.restart()
  await journal.write({ file, offset, bytes })
  expect(await readJournal(folder)).toEqual([{ generation: 2, file, offset, bytes }])
  await journal.clear()
  expect([await size(), await readJournal(folder)]).toEqual([journalBytes, []])
  await journal.remove()
  expect(await readJournal(folder)).toEqual([])
})

it.each([
  ['removed', (path: string) => rm(path)],
  ['replaced', (path: string) => writeFile(`${path}.1`, '').then(() => rename(`${path}.1`, path))],
  ['resized', (path: string) => truncate(path, 5)],
])('detects that the file was %s', async (problem, tamper) => {
  const folder = await temporaryFolder()
  const journal = await Journal.create(folder)
  expect(await journal.findTampering()).toBeUndefined()
  await tamper(join(folder, journalName))
  expect(await journal.findTampering()).toBe(problem)
  await journal.close()
})

it('a writer that lost the lock neither writes to the next journal nor removes it', async () => {
  const folder = await temporaryFolder()
  const [before, now] = [await Journal.create(folder), await Journal.create(folder)]
  const entry = { file, offset: 0, bytes: lines(80) }
  await now.write(entry)
  await before.write({ ...entry, bytes: lines(8_000) })
  await before.remove()
  expect(await readJournal(folder)).toEqual([{ generation: 1, ...entry }])
  await now.remove()
})
