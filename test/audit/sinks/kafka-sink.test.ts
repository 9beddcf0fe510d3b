import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, it } from 'vitest'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { anIntent, committed } from '../audit-fixtures.ts'
import { sinksSchema, type KafkaSettings } from '../../../src/config/audit/audit-sink-settings.ts'
import { createKafkaSink } from '../../../src/audit/sinks/kafka-sink.ts'
import { directOutbound } from '../../../src/lib/outbound/outbound.ts'
import { createDeferred } from '../../gateway/support/waiting.ts'
import { startKafkaFront } from './kafka-front.ts'
import { linesInLog, openLogWithSinks, shortRetry } from './log-with-sinks.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

// No Kafka is available where these tests run. They use the mock cluster of librdkafka, an in-memory broker that an
// independent client library provides for its own tests, read by kcat.
const hasBroker = spawnSync('kcat', ['-V']).status === 0
if (!hasBroker) console.warn('SKIPPED: the tests of the Kafka sink, as there is no kcat on this machine.')

function settingsFor(broker: string): object {
  return {
    name: 'broker',
    type: 'kafka',
    brokers: [broker],
    topic: 'audit',
    retry: shortRetry,
  }
}

interface Broker {
  readonly address: string
  messages(): { key: string; id: string; value: string; partition: string }[]
}

/** Starts a broker with one topic of four partitions, and its consumer, in a separate process. */
async function startBroker(): Promise<Broker> {
  const format = '%p\\t%k\\t%h\\t%s\\n'
  const parameters = ['-C', '-u', '-b', 'mock', '-t', 'audit', '-f', format]
  const mock = ['-X', 'test.mock.num.brokers=1', '-X', 'topic.metadata.refresh.interval.ms=200', '-d', 'mock']
  const child: ChildProcess = spawn('kcat', [...parameters, ...mock], { stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  let output = ''
  let messages = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (messages += chunk))
  // The topic is created when the consumer subscribes to it.
  const address = await eventually(() => {
    const found = /bootstrap\.servers=(127\.0\.0\.1:\d+)/.exec(messages)?.[1]
    if (found === undefined || !/Created topic|FetchRequest|MetadataRequest/.test(messages)) {
      throw new Error(`There is no broker yet: ${messages.slice(-300)}`)
    }
    return found
  })
  return {
    address,
    messages: () =>
      output
        .split('\n')
        .slice(0, -1)
        .map((line) => {
          const [partition = '', key = '', headers = '', ...value] = line.split('\t')
          return { partition, key, id: headers.replace(/^id=/, ''), value: value.join('\t') }
        }),
  }
}

it.skipIf(!hasBroker)(
  'a broker gets every record, those of one table in order in one partition',
  async () => {
    const [folder, broker] = [await temporaryFolder(), await startBroker()]
    const { log, failures } = await openLogWithSinks(folder, [settingsFor(broker.address)])
    for (const table of ['orders', 'customers', 'orders', 'stock', 'orders']) {
      const intent = { ...anIntent(`to ${table}`), id: ['production', table] }
      await log.recordOutcome(await log.recordIntent(intent), committed)
    }
    const lines = await linesInLog(folder)
    await eventually(() =>
      expect(new Set(broker.messages().map(({ value }) => value)), failures.map(String).join('\n')).toEqual(
        new Set(lines),
      ),
    )
    const messages = broker.messages()
    for (const { id, value } of messages) {
      const { chain, seq } = JSON.parse(value) as { chain: string; seq: number }
      expect(id).toBe(`${chain}:${seq}`)
    }
    const ofOrders = messages.filter(({ key }) => key === JSON.stringify(['production', 'orders']))
    expect(ofOrders.length).toBe(6)
    expect(new Set(ofOrders.map(({ partition }) => partition)).size).toBe(1)
    expect(ofOrders.map(({ value }) => value)).toEqual(lines.filter((line) => line.includes('"orders"')))
  },
)

it.skipIf(!hasBroker)('undelivered records stay in the log until a broker accepts them', async () => {
  const folder = await temporaryFolder()
  const { log, failures, close } = await openLogWithSinks(folder, [settingsFor('127.0.0.1:9')])
  await log.recordIntent(anIntent('while it is away'))
  await eventually(() => expect(failures.length).toBeGreaterThan(1))
  await close()
  const broker = await startBroker()
  await openLogWithSinks(folder, [settingsFor(broker.address)])
  await eventually(() =>
    expect(broker.messages().some(({ value }) => value.includes('"while it is away"'))).toBe(true),
  )
})

it.skipIf(!hasBroker).each([
  ['MESSAGE_TOO_LARGE', 10],
  ['RECORD_LIST_TOO_LARGE', 18],
  ['INVALID_TIMESTAMP', 32],
  ['INVALID_RECORD', 87],
])('a record that a broker refuses with %s is replaced by a report', async (_name, code) => {
  const [folder, broker] = [await temporaryFolder(), await startBroker()]
  const front = await startKafkaFront(broker.address, undefined, undefined, { text: 'poison', code })
  const { log, sinks, rejections } = await openLogWithSinks(folder, [settingsFor(front.address)])
  for (const name of ['before', 'poison', 'after']) await log.recordIntent(anIntent(name))
  await eventually(() => expect(sinks.status()).toMatchObject([{ status: { lagRecords: 0 } }]))
  const expected = (await linesInLog(folder)).map((line) => {
    const { chain, seq } = JSON.parse(line) as { chain: string; seq: number }
    return `${chain}:${seq}${line.includes('poison') ? ':refused' : ''}`
  })
  await eventually(() => expect(new Set(broker.messages().map(({ id }) => id))).toEqual(new Set(expected)))
  expect(rejections).toHaveLength(1)
})

it.skipIf(!hasBroker)('a broker that may not be written to is no reason to skip a record', async () => {
  const topicAuthorizationFailed = 29
  const [folder, broker] = [await temporaryFolder(), await startBroker()]
  const refusal = { text: 'poison', code: topicAuthorizationFailed }
  const front = await startKafkaFront(broker.address, undefined, undefined, refusal)
  const { log, failures, rejections } = await openLogWithSinks(folder, [settingsFor(front.address)])
  await log.recordIntent(anIntent('poison'))
  await eventually(() => expect(failures.length).toBeGreaterThan(6))
  expect(rejections).toEqual([])
})

it.skipIf(!hasBroker).each([
  ['connected', true],
  ['not connected', false],
])(
  'an aborted delivery of a sink that is %s ends at once, and leaves no connection',
  async (_name, isConnected) => {
    const broker = await startBroker()
    const front = await startKafkaFront(broker.address, undefined)
    const [settings] = sinksSchema.parse([settingsFor(front.address)])
    const sink = await createKafkaSink(settings as KafkaSettings, directOutbound)
    onTestFinished(() => sink.close())
    const record = { v: 1, kind: 'undelivered', time: '2027-01-31T00:00:00.000Z' } as const
    const deliveries = [{ id: 'a:0', key: 'a', text: JSON.stringify(record), record }]
    if (isConnected) await sink.deliver(deliveries, new AbortController().signal)

    const released = createDeferred()
    front.holdResponses(released.promise)
    const attempt = new AbortController()
    const delivered = expect(sink.deliver(deliveries, attempt.signal)).rejects.toThrow('timeout')
    await eventually(() => expect(front.connections()).toBeGreaterThan(0))
    attempt.abort()
    // The responses are still held.
    await delivered
    released.resolve(undefined)
    await eventually(() => expect(front.connections()).toBe(0))
  },
)

const isWithoutTls = !hasBroker || !hasOpenssl()
if (isWithoutTls) console.warn('SKIPPED: the tests of Kafka over TLS, as kcat or openssl is missing.')

/** Starts a broker behind TLS, with the files of a client. */
async function startSecureBroker(password?: string) {
  const [folder, broker] = [await temporaryFolder(), await startBroker()]
  const authority = await makeAuthority(folder, 'authority')
  const { cert, key } = await authority.issue('broker', 'IP:127.0.0.1', { usage: 'serverAuth' })
  const own = await authority.issue('gateway', '', { usage: 'clientAuth' })
  const clients = { ca: authority.cert, requestCert: true, rejectUnauthorized: true }
  const user = password === undefined ? undefined : { name: 'gateway', password }
  const front = await startKafkaFront(broker.address, { cert, key, ...clients }, user)
  const trusting = { caFile: authority.certFile }
  const tls = { ...trusting, clientCertificate: { certFile: own.certFile, keyFile: own.keyFile } }
  const passwordFile = join(folder, 'password')
  const isThere = (request: string) => broker.messages().some(({ value }) => value.includes(`"${request}"`))
  return { folder: join(folder, 'log'), front, trusting, tls, passwordFile, isThere }
}

it.skipIf(isWithoutTls)(
  'verifies a TLS broker against its authority, and sends a client certificate',
  async () => {
    const { folder, front, trusting, tls, isThere } = await startSecureBroker()
    for (const wrong of [undefined, {}, trusting]) {
      const { log, failures, close } = await openLogWithSinks(folder, [
        { ...settingsFor(front.address), tls: wrong },
      ])
      await log.recordIntent(anIntent('not yet'))
      await eventually(() => expect(failures.length).toBeGreaterThan(1))
      await close()
    }
    expect(isThere('not yet')).toBe(false)
    const { log, failures } = await openLogWithSinks(folder, [{ ...settingsFor(front.address), tls }])
    await log.recordIntent(anIntent('over TLS'))
    await eventually(() => expect(isThere('over TLS'), String(failures.at(-1))).toBe(true))
    expect(isThere('not yet')).toBe(true)
  },
)

it.skipIf(isWithoutTls).each(['plain', 'scram-sha-256', 'scram-sha-512'])(
  'logs in to a broker with %s and the current password of the file',
  async (mechanism) => {
    const { folder, front, tls, passwordFile, isThere } = await startSecureBroker('correct horse')
    const settings = {
      ...settingsFor(front.address),
      tls,
      sasl: { mechanism, username: 'gateway', passwordFile },
    }
    await writeFile(passwordFile, 'wrong\n')
    const { log, failures } = await openLogWithSinks(folder, [settings])
    await log.recordIntent(anIntent('let in'))
    await eventually(() => expect(front.logins.length, String(failures.at(-1))).toBeGreaterThan(1))
    expect(isThere('let in')).toBe(false)
    expect(failures.map(String).join()).not.toContain('wrong')

    await writeFile(passwordFile, 'correct horse\n')
    await eventually(() => expect(isThere('let in'), String(failures.at(-1))).toBe(true))
    expect(front.logins.at(0)).toEqual({ mechanism: mechanism.toUpperCase(), isGood: false })
    expect(front.logins.at(-1)).toEqual({ mechanism: mechanism.toUpperCase(), isGood: true })
  },
)
