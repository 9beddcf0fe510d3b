import { createHash } from 'node:crypto'
import { cp, open, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import { anIntent, committed, logOptions, openLog, segmentsOf } from '../audit-fixtures.ts'
import { everyInTheLongForm } from '../../support/thorough.ts'
import { forge, keyOf } from './forge-log.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Writes chains of seven records each: start, seal, two intents, two outcomes, seal. */
async function writeChains(count: number): Promise<{ folder: string; paths: string[] }> {
  const folder = await temporaryFolder()
  for (let chain = 0; chain < count; chain += 1) {
    const log = await openAuditLog(logOptions(folder))
    const receipt = await log.recordIntent(anIntent(`first-${chain}`))
    const second = await log.recordIntent(anIntent(`second-${chain}`))
    await log.recordOutcome(receipt, committed)
    await log.recordOutcome(second, committed)
    await log.close()
  }
  return { folder, paths: (await segmentsOf(folder)).map((file) => join(folder, file)) }
}

/** Writes a chain of one intent, so that every byte can be changed: start, seal, intent, outcome, seal. */
async function writeShortChain(): Promise<{ folder: string; path: string }> {
  const { folder, log } = await openLog()
  await log.recordOutcome(await log.recordIntent(anIntent('one')), committed)
  await log.close()
  const [file = ''] = await segmentsOf(folder)
  return { folder, path: join(folder, file) }
}

function atPath(paths: readonly string[], index: number): string {
  return paths.at(index) ?? ''
}

describe('the chain', () => {
  it('has the documented format', async () => {
    const { folder, paths } = await writeChains(1)
    let previous = '0'.repeat(64)
    const lines = (await readFile(atPath(paths, 0), 'utf8')).trimEnd().split('\n')
    for (const [seq, line] of lines.entries()) {
      const record = JSON.parse(line) as { seq: number; prev: string; hash: string; v: number }
      const [body = ''] = line.split(',"hash":')
      expect(record).toMatchObject({ v: 1, seq, prev: previous })
      expect(createHash('sha256').update(body).digest('hex')).toBe(record.hash)
      previous = record.hash
    }
    expect(await verifyAuditLog(folder)).toMatchObject({ ok: true, chains: 1, records: 7, unresolved: 0 })
  })

  it('is valid if it does not exist yet', async () => {
    const nothing = { ok: true, chains: 0, records: 0, unresolved: 0 }
    expect(await verifyAuditLog(await temporaryFolder())).toMatchObject(nothing)
  })
})

describe('verification of a changed log', () => {
  it('detects any changed byte', async () => {
    const { folder, path } = await writeShortChain()
    const keys = [await keyOf(folder)]
    const good = await readFile(path)
    const file = await open(path, 'r+')
    const positions = everyInTheLongForm([...good.keys()], 11)
    for (const at of [...positions, good.length - 1]) {
      await file.write(Buffer.of((good[at] ?? 0) ^ (1 << (at % 8))), 0, 1, at)
      const { ok, tornTail } = await verifyAuditLog(folder, keys)
      // Without its last newline, the newest chain looks as after a crash.
      const isTorn = at === good.length - 1
      expect({ at, ok, torn: tornTail !== undefined }).toEqual({ at, ok: isTorn, torn: isTorn })
      await file.write(good, at, 1, at)
    }
    await file.close()
    expect(await verifyAuditLog(folder, keys)).toMatchObject({ ok: true, seals: 2 })
  })

  it('detects a removed, duplicated or moved line', async () => {
    const { folder, paths } = await writeChains(2)
    for (const [index, path] of paths.entries()) {
      const good = await readFile(path, 'utf8')
      const lines = good.split(/(?<=\n)/)
      for (let at = 0; at < lines.length; at += 1) {
        const last = at === lines.length - 1
        const removed = lines.toSpliced(at, 1)
        const doubled = lines.toSpliced(at, 0, lines[at] ?? '')
        const moved = lines.toSpliced(at, 1).toSpliced(last ? 0 : at + 1, 0, lines[at] ?? '')
        for (const bad of [removed, doubled, moved]) {
          await writeFile(path, bad.join(''))
          // The removal of the end of the newest chain cannot be detected.
          expect((await verifyAuditLog(folder)).ok).toBe(bad === removed && last && index === 1)
        }
      }
      await writeFile(path, good)
    }
  })

  it('detects a file truncated at any length', async () => {
    const { folder, path } = await writeShortChain()
    await (await openAuditLog(logOptions(folder))).close()
    const good = await readFile(path)
    const next = (await segmentsOf(folder))[1] ?? ''
    const newest = await readFile(join(folder, next))
    for (let length = good.length - 1; length >= 0; length -= 7) {
      await truncate(path, length)
      expect({ length, ok: (await verifyAuditLog(folder)).ok }).toEqual({ length, ok: false })
    }
    await writeFile(path, good)
    for (let length = newest.length - 1; length >= 0; length -= 1) {
      await truncate(join(folder, next), length)
      const report = await verifyAuditLog(folder)
      // A chain starts with a complete record; truncated after that, the newest one looks unfinished.
      const isUnfinished = length > newest.indexOf(10)
      const torn = isUnfinished && newest[length - 1] !== 10
      expect({ length, ok: report.ok, torn: report.ok && report.tornTail !== undefined }).toEqual({
        length,
        ok: isUnfinished,
        torn,
      })
    }
  })

  it.each([
    [
      'the next one',
      { at: 2, from: 'corp:alice', to: 'corp:mallory' },
      4,
      /prev is not the hash of the record before it/,
    ],
    ['its number', { at: 4, from: '"seq":4', to: '"seq":5' }, 5, /record 4, found record 5/],
    ['its chain', { at: 4, from: '"chain":"0', to: '"chain":"1' }, 5, /belongs to chain/],
    [
      'a member without its name',
      { at: 4, from: '"time"', to: '"when"' },
      5,
      /not a record of format version 1/,
    ],
    ['its version', { at: 4, from: '"v":1', to: '"v":2' }, 5, /not a record of format version 1/],
  ])('detects a record forged with a valid hash: by %s', async (_by, forgery, line, what) => {
    const { folder, paths } = await writeChains(1)
    const lines = (await readFile(atPath(paths, 0), 'utf8')).split(/(?<=\n)/)
    const genuine = lines[forgery.at]?.split(',"hash":')[0] ?? ''
    const body = genuine.replace(forgery.from, forgery.to)
    const hash = createHash('sha256').update(body).digest('hex')
    await writeFile(atPath(paths, 0), lines.with(forgery.at, `${body},"hash":"${hash}"}\n`).join(''))
    const [problem] = (await verifyAuditLog(folder)).problems
    expect(problem).toMatchObject({ line, what: expect.stringMatching(what) })
  })

  it.each(['', 'null', '{}', '{"v":1,"kind":"intent","chain":"c","seq":4}'])(
    'detects a line without a hash: %j',
    async (line) => {
      const { folder, paths } = await writeChains(1)
      const lines = (await readFile(atPath(paths, 0), 'utf8')).split(/(?<=\n)/)
      await writeFile(atPath(paths, 0), lines.with(4, `${line}\n`).join(''))
      const [problem] = (await verifyAuditLog(folder)).problems
      expect(problem).toMatchObject({ line: 5, what: 'the line has no hash at its end' })
    },
  )

  it('detects a removed or renamed older chain', async () => {
    const { folder, paths } = await writeChains(3)
    for (const index of [0, 1]) {
      const good = await readFile(atPath(paths, index))
      await rm(atPath(paths, index))
      expect((await verifyAuditLog(folder)).problems[0]?.what).toMatch(
        /is missing before this segment|expected .* before this one/,
      )
      await writeFile(atPath(paths, index), good)
    }
    await cp(atPath(paths, 0), atPath(paths, 1))
    expect((await verifyAuditLog(folder)).problems[0]?.what).toMatch(/^foreign/)
  })

  it('detects a chain that names none before it, also if the one before it is damaged', async () => {
    const { folder, paths } = await writeChains(2)
    const text = await readFile(atPath(paths, 0), 'utf8')
    await writeFile(atPath(paths, 0), text.replace('"kind":"start"', '"kind":"other"'))
    await forge(atPath(paths, 1), (lines) => lines.map((line) => line.replace(/,"previous":\{[^}]*\}/, '')))
    const what = expect.stringMatching(/^expected no record before this one, found record/)
    expect((await verifyAuditLog(folder)).problems).toContainEqual(expect.objectContaining({ what }))
  })

  it('reports the first 100 damages, and their number', async () => {
    const { folder, log } = await openLog()
    await Promise.all(Array.from({ length: 101 }, (_, n) => log.recordIntent(anIntent(`${n}`))))
    await log.close()
    const [file = ''] = await segmentsOf(folder)
    const text = await readFile(join(folder, file), 'utf8')
    await writeFile(join(folder, file), text.replaceAll('corp:alice', 'corp:mallory'))
    const { problems, problemCount } = await verifyAuditLog(folder)
    expect([problems.length, problemCount]).toEqual([100, 101])
  })

  it('reports the file and the line of each damage, and nothing else', async () => {
    const { folder, paths } = await writeChains(3)
    const files = await segmentsOf(folder)
    const what = 'the hash does not match the line'
    const damages = [
      { at: 0, from: 'second-0', line: 4 },
      { at: 1, from: '"kind":"start"', line: 1 },
      { at: 1, from: '"within":1000', line: 2 },
      { at: 1, from: '"leaves":4', line: 7 },
      { at: 2, from: '"outcome"', line: 5 },
    ]
    for (const { at, from } of damages) {
      const text = await readFile(atPath(paths, at), 'utf8')
      await writeFile(atPath(paths, at), text.replace(from, from.replace(/\w/, '?')))
    }
    const { ok, chains, records, problems } = await verifyAuditLog(folder, [await keyOf(folder)])
    expect({ ok, chains, records }).toEqual({ ok: false, chains: 3, records: 16 })
    expect(problems).toEqual(damages.map(({ at, line }) => ({ file: files[at], line, what })))
  })
})
