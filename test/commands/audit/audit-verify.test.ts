import { appendFile, readFile, truncate, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from '../../support/run-command.ts'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import { anIntent, committed, logOptions, segmentsOf } from '../../audit/audit-fixtures.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Writes a log with some changes; returns its folder and its only file. */
async function writtenLog(): Promise<{ folder: string; file: string }> {
  const folder = await temporaryFolder()
  const log = await openAuditLog(logOptions(folder))
  for (const name of ['one', 'two', 'three'])
    await log.recordOutcome(await log.recordIntent(anIntent(name)), committed)
  await log.close()
  const [segment = ''] = await segmentsOf(folder)
  return { folder, file: join(folder, segment) }
}

it('accepts a log as the gateway wrote it, and rejects any change', async () => {
  const { folder, file } = await writtenLog()
  const verify = () => runCommand(['audit', 'verify', folder])
  const text = await readFile(file, 'utf8')
  const good = {
    status: 0,
    output: expect.stringMatching(/^good: \d+ records in 1 chain, 0 changes without/),
  }
  expect(await verify()).toMatchObject(good)

  await writeFile(file, text.replace('"two"', '"six"'))
  const changed = await verify()
  expect(changed).toMatchObject({ status: 1, output: '' })
  expect(changed.messages).toMatch(/^broken: \S+\.jsonl:\d+: the hash does not match the line\n/)

  await writeFile(file, text.split('\n').toSpliced(3, 1).join('\n'))
  expect((await verify()).status).toBe(1)

  await writeFile(file, text)
  await truncate(file, Buffer.byteLength(text) - 10)
  expect(await verify()).toMatchObject({ status: 0, output: expect.stringMatching(/^torn tail: /m) })

  await writeFile(file, text)
  await appendFile(file, '{"kind":"intent"}\n')
  expect((await verify()).status).toBe(1)
})

it('prints the result as JSON', async () => {
  const { folder, file } = await writtenLog()
  const verify = () => runCommand(['audit', 'verify', folder, '--json'])
  const report = async () => JSON.parse((await verify()).output) as unknown
  const head = { hash: expect.stringMatching(/^\w{64}$/) }
  expect(await report()).toMatchObject({ ok: true, signaturesChecked: false, chains: 1, unresolved: 0, head })
  await appendFile(file, '{"kind":"intent"}\n')
  expect((await verify()).status).toBe(1)
  const problem = { file: basename(file), what: 'the line has no hash at its end' }
  expect(await report()).toMatchObject({ ok: false, problems: [problem] })
})

it('rejects a folder without a log', async () => {
  const folder = await temporaryFolder()
  const empty = await runCommand(['audit', 'verify', folder])
  expect(empty).toMatchObject({ status: 1, messages: expect.stringMatching(/contains no audit log/) })
  const missing = await runCommand(['audit', 'verify', join(folder, 'none')])
  expect(missing).toMatchObject({ status: 1, messages: expect.stringMatching(/does not exist/) })
})
