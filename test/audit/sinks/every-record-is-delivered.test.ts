import { appendFile, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { AuditLog } from '../../../src/audit/log/audit-log.ts'
import { listSegments } from '../../../src/audit/storage/log-segments.ts'
import { followLog } from '../../../src/audit/sinks/log-follower.ts'
import { anIntent, aRefusal, committed, segmentsOf } from '../audit-fixtures.ts'
import { otlpSettings, linesInLog, openLogWithSinks, type LogWithSinks } from './log-with-sinks.ts'
import {
  distinct,
  drops,
  fails,
  linesOf,
  stalls,
  startReceiver,
  takes,
  type Receiving,
} from './http-receiver.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const segmentBytes = 4_000

/** Sinks have a few seconds to deliver the rest when they close: on a busy machine, that may be too short. */
async function closeWhenDelivered({ sinks, close }: LogWithSinks): Promise<void> {
  // Before its first delivery, a sink does not know how many records there are.
  const delivered = { lagRecords: 0, lastSuccess: expect.any(Number) as number }
  await eventually(() => {
    for (const { status } of sinks.status()) expect(status).toMatchObject(delivered)
  })
  await close()
}

/** The receiver stores half of the batch, and its acknowledgement is lost. */
const takesAndDrops: Receiving = (_, response) => response.socket?.resetAndDestroy()

it.each([
  ['fails', fails],
  ['stalls', stalls],
  ['drops connections', drops],
  ['takes records and loses the acknowledgement', takesAndDrops],
] as const)('a receiver that %s gets every record in order once it accepts them', async (_, receiving) => {
  const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
  receiver.receiving = receiving
  const { log, sinks, failures } = await openLogWithSinks(
    folder,
    [otlpSettings(receiver.url)],
    { segmentBytes },
    receiving === stalls ? { timeoutMs: 300 } : {},
  )
  for (let count = 0; count < 20; count += 1) {
    await log.recordOutcome(await log.recordIntent(anIntent(`request ${count}`)), committed)
  }
  await eventually(() => expect(failures.length).toBeGreaterThan(2))
  expect(sinks.status()).toMatchObject([{ status: { lagRecords: log.status().head.seq + 1 } }])
  expect(receiver.taken).toEqual([])
  receiver.receiving = takes
  await log.recordIntent(anIntent('the last one'))
  await eventually(async () => expect(distinct(linesOf(receiver.taken))).toEqual(await linesInLog(folder)))
  await eventually(() => expect(sinks.status()).toMatchObject([{ status: { lagRecords: 0, lagSeconds: 0 } }]))
  // With a short timeout, an acknowledgement may come too late.
  if (receiving !== stalls) expect(linesOf(receiver.taken)).toEqual(distinct(linesOf(receiver.taken)))
})

it('sends smaller batches to a receiver that accepts only small ones', async () => {
  const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
  receiver.receiving = (batch, response) => response.writeHead(linesOf([batch]).length > 5 ? 413 : 200).end()
  const { log } = await openLogWithSinks(folder, [otlpSettings(receiver.url)], {}, { maxWaitMs: 30 })
  await Promise.all(Array.from({ length: 40 }, (_, count) => log.recordIntent(anIntent(`request ${count}`))))
  await eventually(async () => expect(linesOf(receiver.taken)).toEqual(await linesInLog(folder)))
})

it('a sink resumes after a restart, and a new sink starts with the oldest record', async () => {
  const [folder, receiver, second] = [await temporaryFolder(), await startReceiver(), await startReceiver()]
  const first = await openLogWithSinks(folder, [otlpSettings(receiver.url)], { segmentBytes })
  for (let count = 0; count < 20; count += 1) await first.log.recordIntent(anIntent(`request ${count}`))
  await closeWhenDelivered(first)
  expect(linesOf(receiver.taken)).toEqual(await linesInLog(folder))
  receiver.taken.length = 0
  const before = await linesInLog(folder)
  const settings = [otlpSettings(receiver.url), { ...otlpSettings(second.url), name: 'second' }]
  const restarted = await openLogWithSinks(folder, settings, { segmentBytes })
  await restarted.log.recordIntent(anIntent('after'))
  await closeWhenDelivered(restarted)
  const lines = await linesInLog(folder)
  expect(linesOf(receiver.taken)).toEqual(lines.slice(before.length))
  expect(linesOf(second.taken)).toEqual(lines)
})

/** Makes changes that end, so that only a sink can delay retention. */
async function change(log: AuditLog, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    await log.recordOutcome(await log.recordIntent(anIntent(`change ${count}`)), committed)
  }
}

it('retention waits for a sink until it has delivered the expired records', async () => {
  const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
  receiver.receiving = fails
  const changed = { segmentBytes, retention: { maxBytes: 1 } }
  const { log, sinks } = await openLogWithSinks(folder, [otlpSettings(receiver.url)], changed)
  await change(log, 20)
  const whole = await linesInLog(folder)
  expect(JSON.parse(whole[0] ?? '')).toMatchObject({ kind: 'start', seq: 0 })
  receiver.receiving = takes
  await eventually(async () => {
    await change(log, 1)
    // On a busy machine, changes could create files faster than the sink reads them.
    await eventually(() => expect(sinks.status()).toMatchObject([{ status: { lagRecords: 0 } }]))
    expect((await segmentsOf(folder)).length).toBeLessThan(4)
  })
  expect(distinct(linesOf(receiver.taken)).slice(0, whole.length)).toEqual(whole)
})

it('reports records that were removed before their delivery', async () => {
  const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
  const first = await openLogWithSinks(folder, [], { segmentBytes })
  await change(first.log, 20)
  await first.close()
  const whole = await linesInLog(folder)
  for (const file of (await segmentsOf(folder)).slice(0, 3)) await rm(join(folder, file))
  const rest = await linesInLog(folder)
  const before = JSON.parse(rest[0] ?? '') as { chain: string; seq: number }
  expect(before.seq).toBe(whole.length - rest.length)
  const second = await openLogWithSinks(folder, [otlpSettings(receiver.url)])
  await closeWhenDelivered(second)
  const [reported, ...lines] = linesOf(receiver.taken)
  expect(JSON.parse(reported ?? '')).toMatchObject({
    kind: 'undelivered',
    before: { chain: before.chain, seq: before.seq },
  })
  expect(lines).toEqual(await linesInLog(folder))
})

it('reports an invalid line and delivers the others', async () => {
  const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
  const first = await openLogWithSinks(folder, [])
  for (const request of ['one', 'two', 'three']) first.log.recordRefusal(aRefusal(request))
  await first.close()
  const [file = ''] = await segmentsOf(folder)
  const text = await readFile(join(folder, file), 'utf8')
  await writeFile(
    join(folder, file),
    text.replace(/^.*"two".*$/m, (line) => '#'.repeat(line.length)),
  )
  const second = await openLogWithSinks(folder, [otlpSettings(receiver.url)])
  await second.log.recordIntent(anIntent('after'))
  await closeWhenDelivered(second)
  const expected = (await linesInLog(folder)).filter((line) => !line.startsWith('#'))
  const lines = linesOf(receiver.taken)
  const reported = lines.filter((line) => line.includes('"undelivered"'))
  expect(reported.map((line) => JSON.parse(line) as object)).toMatchObject([{ line: { file } }])
  expect(lines.filter((line) => !reported.includes(line))).toEqual(expected)
})

it('reports lines that another writer added behind the end of the log, and does not deliver them', async () => {
  const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
  const first = await openLogWithSinks(folder, [])
  await first.log.recordIntent(anIntent('genuine'))
  await first.close()
  const expected = await linesInLog(folder)
  const [file = ''] = await segmentsOf(folder)
  const forged = expected[2]?.replace('genuine', 'forged').replace('"seq":2', `"seq":${expected.length}`)
  await appendFile(join(folder, file), `${forged}\n`)
  const second = await openLogWithSinks(folder, [otlpSettings(receiver.url)])
  await closeWhenDelivered(second)
  const lines = linesOf(receiver.taken)
  expect(lines.slice(0, expected.length)).toEqual(expected)
  expect(lines.filter((line) => line.includes('forged'))).toEqual([])
  const reports = lines.filter((line) => line.includes('"undelivered"'))
  expect(reports.map((line) => JSON.parse(line) as object)).toMatchObject([{ line: { file } }])
})

it('does not deliver records that are not durable', async () => {
  const folder = await temporaryFolder()
  const { log, close } = await openLogWithSinks(folder, [])
  await log.recordIntent(anIntent('durable'))
  const end = log.durableEnd()
  await log.recordIntent(anIntent('later'))
  await close()
  const segments = await listSegments(folder)
  const lines = await linesInLog(folder)
  const texts: string[] = []
  for await (const { text } of followLog(folder, segments, undefined, end)) texts.push(text)
  expect(texts).toEqual(
    lines.slice(
      0,
      lines.findIndex((line) => line.includes('later')),
    ),
  )
})
