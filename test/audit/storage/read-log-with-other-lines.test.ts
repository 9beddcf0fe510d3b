import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { readAuditLog } from '../../../src/audit/storage/read-audit-log.ts'
import { anIntent, committed, logOptions, segmentsOf } from '../audit-fixtures.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

it.for(['not JSON', 'null', '{}', '{"v":1,"kind":"seal","chain":"a","seq":1}'])(
  'rejects a log with the line %s',
  async (line) => {
    const folder = await temporaryFolder()
    const log = await openAuditLog(logOptions(folder))
    await log.recordOutcome(await log.recordIntent(anIntent('one')), committed)
    await log.close()
    const [segment = ''] = await segmentsOf(folder)
    await appendFile(join(folder, segment), `${line}\n`)
    const read = async (): Promise<void> => {
      for await (const record of readAuditLog(folder)) expect(record.hash).toHaveLength(64)
    }
    await expect(read()).rejects.toThrow('a line that is not a record of format version 1')
  },
)
