import { appendFile, copyFile, readFile, writeFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { selectRecords } from '../../../src/audit/query/select-records.ts'
import { createChainId, formatSegmentName } from '../../../src/audit/storage/log-segments.ts'
import type { LogProblem } from '../../../src/audit/storage/read-audit-log.ts'
import { verifyAuditLog } from '../../../src/audit/verify/verify-audit-log.ts'
import {
  anIntent,
  committed,
  copyLog,
  logOptions,
  ofKind,
  openLog,
  recordsOf,
  segmentsOf,
} from '../audit-fixtures.ts'
import { keyOf } from '../verify/forge-log.ts'

interface StoppedLog {
  readonly folder: string
  readonly file: string
  readonly lines: readonly string[]
}

/** A log that was closed, or of a process that was killed while the records after the first seal had none. */
async function stoppedLog(how: 'closed' | 'killed'): Promise<StoppedLog> {
  const { folder: running, log } = await openLog()
  await log.recordOutcome(await log.recordIntent(anIntent('genuine')), committed)
  if (how === 'closed') await log.close()
  const folder = await copyLog(running)
  const [file = ''] = await segmentsOf(folder)
  await log.close()
  return { folder, file, lines: (await readFile(join(folder, file), 'utf8')).trimEnd().split('\n') }
}

type Body = Readonly<Record<string, unknown>>

/** Makes lines that follow the last one, as anybody can without a key. */
function forgeLines(last: string, bodies: readonly Body[]): string {
  let { seq, hash: prev, chain } = JSON.parse(last) as { seq: number; hash: string; chain: string }
  return bodies
    .map((body) => {
      seq += 1
      const text = JSON.stringify({ v: 1, chain, seq, prev, time: new Date().toISOString(), ...body })
      prev = createHash('sha256').update(text.slice(0, -1)).digest('hex')
      return `${text.slice(0, -1)},"hash":"${prev}"}\n`
    })
    .join('')
}

const forgedIntent: Body = {
  ...anIntent('forged'),
  kind: 'intent',
  tables: [{ id: ['production', 'orders'] }],
}
const forgedSeal: Body = {
  kind: 'seal',
  leaves: 1,
  within: 1_000,
  key: '0123456789abcdef',
  signature: 'AAAA',
}

/** Returns what the start reports as tampered with. */
async function restart(folder: string): Promise<readonly unknown[]> {
  const events: unknown[] = []
  const observer = { tampered: (...event: unknown[]) => events.push(event) }
  await (await openAuditLog(logOptions(folder, { observer }))).close()
  return events
}

describe.each(['closed', 'killed'] as const)('a start with a log that was %s', (how) => {
  it('vouches for its own records, and never for those that another writer appended', async () => {
    const { folder, file, lines } = await stoppedLog(how)
    await appendFile(join(folder, file), forgeLines(lines.at(-1) ?? '', [forgedIntent, forgedSeal]))
    const events = await restart(folder)
    await restart(folder)

    const line = lines.length + 1
    const found = { kind: 'tampered', file, what: 'extended', line, lines: 2 }
    expect(events).toContainEqual([file, 'extended', 2])
    const records = await recordsOf(folder)
    expect(ofKind(records, 'tampered')).toMatchObject([found])
    expect(ofKind(records, 'outcome').filter(({ result }) => result === 'unknown')).toEqual([])
    const report = await verifyAuditLog(folder, [await keyOf(folder)])
    const foreign = { file, line, what: expect.stringMatching(/^foreign: .* and the 1 after it/) }
    expect(report).toMatchObject({ ok: false, chains: 3, problems: [foreign] })

    const problems: LogProblem[] = []
    const selected: string[] = []
    const read = selectRecords(folder, {}, (problem) => problems.push(problem))
    for await (const { record } of read) if ('request' in record) selected.push(record.request)
    expect(selected).toEqual(['genuine', 'genuine'])
    expect(problems).toEqual([foreign])
  })

  it.each([2, -1])('does not follow record %i of its own that another writer repeats', async (at) => {
    const { folder, file, lines } = await stoppedLog(how)
    await appendFile(join(folder, file), `${lines.at(at)}\n`)
    await restart(folder)
    expect((await verifyAuditLog(folder)).problems).toMatchObject([{ file, line: lines.length + 1 }])
  })

  it.each([
    ['segment', 0],
    ['chain', 1],
  ])('does not follow a %s that another writer added', async (_what, ordinal) => {
    const { folder, file, lines } = await stoppedLog(how)
    const { chain } = JSON.parse(lines[0] ?? '') as { chain: string }
    const forgedChain = ordinal === 0 ? chain : createChainId(`${ordinal - 1}`)
    const forged = formatSegmentName(forgedChain, 1 - ordinal)
    await writeFile(
      join(folder, forged),
      forgeLines(
        lines.at(-1) ?? '',
        // The end of a chain of another key, which may be an earlier one, is its last seal.
        [forgedIntent, ...(ordinal === 0 ? [forgedSeal] : [])].map((body) => ({
          ...body,
          chain: forgedChain,
        })),
      ),
    )
    await restart(folder)
    const keys = [await keyOf(folder)]
    expect((await verifyAuditLog(folder, keys)).problems).toMatchObject([{ file: forged, line: 1 }])
    const starts = ofKind(await recordsOf(folder), 'start')
    expect(starts.at(-1)?.previous).toMatchObject({ chain, seq: lines.length - 1 })
    expect(file).not.toBe(forged)
  })
})

it('after a crash and a change of the key, names what the earlier key has not sealed', async () => {
  const { folder, file } = await stoppedLog('killed')
  const publicKey = await keyOf(folder)
  const other = await stoppedLog('closed')
  await copyFile(join(other.folder, 'seal-key.pem'), join(folder, 'seal-key.pem'))
  await restart(folder)
  const { problems } = await verifyAuditLog(folder, [publicKey, await keyOf(folder)])
  expect(problems).toMatchObject([{ file, line: 3, what: expect.stringMatching(/^foreign/) }])
})
