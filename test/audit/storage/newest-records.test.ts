import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { listSegments } from '../../../src/audit/storage/log-segments.ts'
import { readNewestRecords } from '../../../src/audit/storage/read-audit-log.ts'
import { openLog, recordsOf, segmentsOf, writeChanges } from '../audit-fixtures.ts'

it('the newest records reach back over a segment that was just begun', async () => {
  const { folder, log } = await openLog({ segmentBytes: 2_000 })
  await writeChanges(log, 20)
  await log.close()
  const [before = '', last = ''] = (await segmentsOf(folder)).slice(-2)
  const sizes = await Promise.all([before, last].map(async (file) => (await stat(join(folder, file))).size))
  const all = await recordsOf(folder)

  async function readSeqs(bytes: number): Promise<readonly number[]> {
    const seqs: number[] = []
    for await (const { seq } of readNewestRecords(folder, await listSegments(folder), bytes)) seqs.push(seq)
    return seqs
  }
  const [ofLast, ofTwo] = [await readSeqs(sizes[1] ?? 0), await readSeqs((sizes[0] ?? 0) + (sizes[1] ?? 0))]
  expect(ofLast.at(-1)).toBe(all.at(-1)?.seq)
  expect(ofTwo.slice(-ofLast.length)).toEqual(ofLast)
  expect(ofTwo.length).toBeGreaterThan(ofLast.length)
  expect(await readSeqs(Infinity)).toEqual(all.map(({ seq }) => seq))
})
