import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { anIntent, segmentsOf } from '../audit-fixtures.ts'
import { distinct, linesOf, startReceiver, takes, type Receiver, type Receiving } from './http-receiver.ts'
import { otlpSettings, linesInLog, openLogWithSinks } from './log-with-sinks.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const refusesPoison =
  (status: number): Receiving =>
  ({ body }, response) =>
    response.writeHead(body.includes('poison') ? status : 204).end()

interface Line {
  readonly kind: string
  readonly chain?: string
  readonly seq?: number
}

const parse = (line: string): Line => JSON.parse(line) as Line

/** The delivered records in order, without duplicates of splitting. */
function recordsOf({ taken }: Receiver): string[] {
  return distinct(linesOf(taken))
}

it.each([400, 413, 422])(
  'a record that gets %i is replaced by a report, and all others are delivered in order',
  async (status) => {
    const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
    receiver.receiving = refusesPoison(status)
    const { log, sinks, rejections } = await openLogWithSinks(
      folder,
      [otlpSettings(receiver.url)],
      {},
      { maxWaitMs: 50 },
    )
    const names = Array.from({ length: 40 }, (_, count) =>
      count % 17 === 7 ? `poison ${count}` : `request ${count}`,
    )
    await Promise.all(names.map((name) => log.recordIntent(anIntent(name))))
    await eventually(() => expect(sinks.status()).toMatchObject([{ status: { lagRecords: 0 } }]))
    const expected = (await linesInLog(folder)).map((line) => {
      const { chain, seq } = parse(line)
      return line.includes('poison') ? { kind: 'undelivered', refused: { chain, seq } } : parse(line)
    })
    expect(recordsOf(receiver).map(parse)).toMatchObject(expected)
    expect(rejections).toEqual(
      (await linesInLog(folder))
        .filter((line) => line.includes('poison'))
        .map(parse)
        .map(({ chain, seq }) => `1 ${chain}:${seq}: the receiver returned status ${status}`),
    )
    expect(receiver.seen.filter(({ body }) => body.includes('poison')).length).toBeGreaterThan(2 * 3)
  },
)

it.each([401, 403, 404, 405, 408, 409, 415, 421, 425, 429, 500, 501, 503])(
  'the status %i is not about a record: nothing is skipped',
  async (status) => {
    const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
    receiver.receiving = refusesPoison(status)
    const { log, failures, rejections } = await openLogWithSinks(folder, [otlpSettings(receiver.url)])
    await log.recordIntent(anIntent('poison'))
    await eventually(() => expect(failures.length).toBeGreaterThan(6))
    receiver.receiving = takes
    await eventually(async () => expect(recordsOf(receiver)).toEqual(await linesInLog(folder)))
    expect(rejections).toEqual([])
  },
)

it('a receiver that refuses everything, also the reports, gets every record once it does not', async () => {
  const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
  receiver.receiving = (_, response) => response.writeHead(400).end()
  const { log, failures, rejections } = await openLogWithSinks(folder, [otlpSettings(receiver.url)])
  for (let count = 0; count < 10; count += 1) await log.recordIntent(anIntent(`request ${count}`))
  await eventually(() => expect(failures.length).toBeGreaterThan(20))
  receiver.receiving = takes
  await eventually(async () => expect(recordsOf(receiver)).toEqual(await linesInLog(folder)))
  expect(rejections).toEqual([])
})

it('a refused record after a gap is reported after the gap', async () => {
  const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
  receiver.receiving = refusesPoison(413)
  const first = await openLogWithSinks(folder, [], { segmentBytes: 1_500 })
  for (let count = 0; count < 8; count += 1) await first.log.recordIntent(anIntent(`poison ${count}`))
  await first.close()
  const [, removed = ''] = await segmentsOf(folder)
  await rm(join(folder, removed))
  const { log, sinks, rejections } = await openLogWithSinks(folder, [otlpSettings(receiver.url)])
  await log.recordIntent(anIntent('after'))
  await eventually(() => {
    expect(recordsOf(receiver).at(-1)).toContain('"after"')
    expect(sinks.status()).toMatchObject([{ status: { lagRecords: 0 } }])
  })
  const reports = recordsOf(receiver).filter((line) => parse(line).kind === 'undelivered')
  expect(reports.filter((line) => line.includes('"before"'))).toHaveLength(1)
  expect(reports.filter((line) => line.includes('"refused"'))).toHaveLength(rejections.length)
})

it('a redirect is not followed, and named', async () => {
  const [folder, receiver, target] = [await temporaryFolder(), await startReceiver(), await startReceiver()]
  receiver.receiving = (_, response) =>
    response.writeHead(308, { location: 'https://collector.example:8443/secret?token=1' }).end()
  const { log, failures } = await openLogWithSinks(folder, [otlpSettings(receiver.url)])
  await log.recordIntent(anIntent('one'))
  await eventually(() =>
    expect(failures.map(String)).toContain(
      'Error: the receiver returned status 308 to the host collector.example:8443; redirects are not followed',
    ),
  )
  expect(target.seen).toEqual([])
})
