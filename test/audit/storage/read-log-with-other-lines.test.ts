import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readAuditLog, type LogProblem } from '../../../src/audit/storage/read-audit-log.ts'
import { anIntent, committed, openLog, segmentsOf } from '../audit-fixtures.ts'

it.for(['not JSON', 'null', '{}', '{"v":1,"kind":"seal","chain":"a","seq":1}'])(
  'reports the line %s, and reads on',
  async (line) => {
    const { folder, log } = await openLog()
    await log.recordOutcome(await log.recordIntent(anIntent('one')), committed)
    await log.close()
    const [segment = ''] = await segmentsOf(folder)
    const lines = (await readFile(join(folder, segment), 'utf8')).split('\n')
    await writeFile(join(folder, segment), lines.toSpliced(2, 1, line).join('\n'))
    const [problems, kinds]: [LogProblem[], string[]] = [[], []]
    const read = readAuditLog(folder, undefined, (problem) => problems.push(problem))
    for await (const { kind } of read) kinds.push(kind)
    expect(kinds).toEqual(['start', 'seal', 'outcome', 'seal'])
    const what = 'the line is not a record of format version 1'
    expect(problems).toEqual([{ file: segment, line: 3, what }])
  },
)
