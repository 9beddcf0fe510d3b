import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../gateway/waiting.ts'
import { anIntent, committed, temporaryFolder } from '../entries.ts'
import { linesInLog, openLogWithSinks, quickly } from './log-with-sinks.ts'

// There is no Kafka to be had where these tests run. What speaks its protocol here is the mock cluster of librdkafka,
// a broker in memory that an independent client library ships for its own tests, read by kcat.
const hasBroker = spawnSync('kcat', ['-V']).status === 0
if (!hasBroker) console.warn('SKIPPED: the tests of the Kafka sink, as there is no kcat on this machine.')

function settingsFor(broker: string): object {
  return { name: 'broker', type: 'kafka', brokers: [broker], topic: 'audit', timeoutMs: 2_000, ...quickly }
}

interface Broker {
  readonly address: string
  /** What a consumer got so far: key, header and value of each record. */
  messages(): { key: string; id: string; value: string; partition: string }[]
}

/** A broker with one topic of four partitions, and its consumer, in a process of their own. */
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
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => (output += piece))
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => (messages += piece))
  // The topic is made when the consumer asks for it.
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

test.skipIf(!hasBroker)(
  'a broker gets every record; those of one table in one partition, in order',
  async () => {
    const [folder, broker] = [await temporaryFolder(), await startBroker()]
    const { log, failures } = await openLogWithSinks(folder, [settingsFor(broker.address)])
    for (const table of ['orders', 'customers', 'orders', 'stock', 'orders']) {
      const intent = { ...anIntent(`to ${table}`), id: ['production', table] }
      await log.outcome(await log.intent(intent), committed)
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

test.skipIf(!hasBroker)('records that no broker takes stay in the log until one does', async () => {
  const folder = await temporaryFolder()
  const { log, failures, close } = await openLogWithSinks(folder, [settingsFor('127.0.0.1:9')])
  await log.intent(anIntent('while it is away'))
  await eventually(() => expect(failures.length).toBeGreaterThan(1))
  await close()
  const broker = await startBroker()
  await openLogWithSinks(folder, [settingsFor(broker.address)])
  await eventually(() =>
    expect(broker.messages().some(({ value }) => value.includes('"while it is away"'))).toBe(true),
  )
})
