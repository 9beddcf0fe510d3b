import { appendFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { aRefusal, anIntent, committed, segmentsOf } from '../audit-fixtures.ts'
import { otlpSettings, linesInLog, openLogWithSinks } from './log-with-sinks.ts'
import { startReceiver, takes } from './http-receiver.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'
import { listenLocally } from '../../support/local-server.ts'

// The messages of opentelemetry.proto.collector.logs.v1 and their parts, in the JSON encoding of OTLP: names in
// lowerCamelCase, 64-bit integers as strings, enums as integers. Unknown members are errors here.
const anyValue = z.strictObject({ stringValue: z.string() })
const attributes = z.array(z.strictObject({ key: z.string().min(1), value: anyValue }))
const fixed64 = z.string().regex(/^\d{1,20}$/)
const exportLogsServiceRequest = z.strictObject({
  resourceLogs: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeLogs: z.array(
        z.strictObject({
          scope: z.strictObject({ name: z.string(), version: z.string() }),
          logRecords: z.array(
            z.strictObject({
              timeUnixNano: fixed64,
              observedTimeUnixNano: fixed64,
              severityNumber: z.int().min(1).max(24),
              severityText: z.enum(['INFO', 'WARN', 'ERROR']),
              eventName: z.string(),
              body: anyValue,
              attributes,
            }),
          ),
        }),
      ),
    }),
  ),
})

function recordsIn(body: string) {
  const { resourceLogs } = exportLogsServiceRequest.parse(JSON.parse(body))
  return resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
}

it('an OTLP receiver gets each record as a log record with its id and time', async () => {
  const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
  const { log } = await openLogWithSinks(folder, [otlpSettings(receiver.url)])
  log.recordRefusal(aRefusal('refused'))
  await log.recordIntent(anIntent('intended'))
  const lines = await linesInLog(folder)
  await eventually(() =>
    expect(receiver.taken.flatMap(({ body }) => recordsIn(body)).length).toBe(lines.length),
  )
  expect(receiver.taken[0]?.headers['content-type']).toBe('application/json')
  const records = receiver.taken.flatMap(({ body }) => recordsIn(body))
  expect(records.map(({ body }) => body.stringValue)).toEqual(lines)
  for (const { attributes, timeUnixNano, body } of records) {
    const { chain, seq, time } = JSON.parse(body.stringValue) as { chain: string; seq: number; time: string }
    expect(attributes[0]).toEqual({ key: 'log.record.uid', value: { stringValue: `${chain}:${seq}` } })
    expect(BigInt(timeUnixNano)).toBe(BigInt(Date.parse(time)) * 1_000_000n)
  }
})

it('the severity of a record says how much attention it needs', async () => {
  const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
  const { log } = await openLogWithSinks(folder, [otlpSettings(receiver.url)])
  log.recordRefusal(aRefusal('refused'))
  await log.recordOutcome(await log.recordIntent(anIntent('known')), committed)
  await log.recordOutcome(await log.recordIntent(anIntent('lost')), { result: 'unknown', durationMs: 3 })
  const lines = await linesInLog(folder)
  await eventually(() =>
    expect(receiver.taken.flatMap(({ body }) => recordsIn(body)).length).toBe(lines.length),
  )
  const severities = receiver.taken
    .flatMap(({ body }) => recordsIn(body))
    .map(({ body, severityText }) => {
      const { kind, request = '' } = JSON.parse(body.stringValue) as { kind: string; request?: string }
      return [`${kind} ${request}`.trim(), severityText]
    })
  expect(Object.fromEntries(severities)).toMatchObject({
    'refusal refused': 'WARN',
    'intent known': 'INFO',
    'outcome known': 'INFO',
    'outcome lost': 'WARN',
  })
})

it('reports records rejected by an OTLP receiver, and does not send them again', async () => {
  const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
  receiver.receiving = (_, response) => {
    receiver.receiving = takes
    response.end(JSON.stringify({ partialSuccess: { rejectedLogRecords: '1', errorMessage: 'too long' } }))
  }
  const { log, sinks, rejections } = await openLogWithSinks(folder, [otlpSettings(receiver.url)])
  await log.recordIntent(anIntent('refused'))
  await eventually(() => expect(sinks.status()).toMatchObject([{ status: { lagRecords: 0 } }]))
  expect(rejections).toEqual(['1 too long'])
})

it('a page of HTML, as of a proxy that wants a login, is no delivery', async () => {
  const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
  receiver.receiving = (_, response) =>
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html>Sign in</html>')
  const { log, sinks, failures } = await openLogWithSinks(folder, [otlpSettings(receiver.url)])
  await log.recordIntent(anIntent('kept'))
  await eventually(() => expect(failures.map(String)).toContainEqual(expect.stringMatching(/a page of HTML/)))
  expect(sinks.status()[0]?.status.lagRecords).toBeGreaterThan(0)
  receiver.receiving = takes
  await eventually(() => expect(sinks.status()).toMatchObject([{ status: { lagRecords: 0 } }]))
})

it.each([
  ['', '/v1/logs'],
  ['/', '/v1/logs'],
  ['/otlp', '/otlp'],
  ['/?tenant=a', '/?tenant=a'],
])('batches for a URL with the path %j go to %s', async (path, target) => {
  const targets: (string | undefined)[] = []
  const server = createServer((request, response) => {
    targets.push(request.url)
    response.writeHead(204).end()
  })
  const port = await listenLocally(server)
  await openLogWithSinks(await temporaryFolder(), [otlpSettings(`http://127.0.0.1:${port}${path}`)])
  await eventually(() => expect(targets).toContain(target))
})

it('a record that is missing in the log has the highest severity', async () => {
  const [folder, receiver] = [await temporaryFolder(), await startReceiver()]
  const first = await openLogWithSinks(folder, [])
  await first.close()
  const [file = ''] = await segmentsOf(folder)
  await appendFile(join(folder, file), 'not a record\n')
  await openLogWithSinks(folder, [otlpSettings(receiver.url)])
  await eventually(() => {
    const reports = receiver.taken.flatMap(({ body }) => recordsIn(body))
    expect(reports.find(({ eventName }) => eventName === 'catalog-gateway.audit.undelivered')).toMatchObject({
      severityNumber: 17,
      severityText: 'ERROR',
    })
  })
})
