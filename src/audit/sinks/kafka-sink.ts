import { readFile } from 'node:fs/promises'
import type { KafkaConfig, Producer, SASLOptions } from 'kafkajs'
import { readTlsFiles } from '../../lib/tls/tls-files.ts'
import type { KafkaSettings } from '../../config/audit/audit-sink-settings.ts'
import type { Delivery, Sink } from './sink.ts'
import { rejectOnAbort } from '../../lib/async/reject-on-abort.ts'

/** All replicas that are in sync have the records before they count as taken. */
const allReplicas = -1

/**
 * Produces to a topic of a Kafka-compatible broker. A batch is on its way at a time, and the key of a record is that
 * of its table, so that the records of one table stay in order in one partition. The header `id` tells duplicates.
 * The topic must be there.
 *
 * The client is kafkajs: it has no native parts, no dependencies, and speaks to old and new brokers on every
 * supported Node. It is loaded only where a sink needs it.
 */
export async function createKafkaSink(settings: KafkaSettings): Promise<Sink> {
  const { topic, timeoutMs } = settings
  // A file that is missing is found at start rather than at the first batch.
  await createKafkaConfig(settings)
  let producer: Producer | undefined
  const drop = async (): Promise<void> => {
    const old = producer
    producer = undefined
    // What a broken connection says when it is closed is no news.
    await old?.disconnect().catch(() => undefined)
  }
  return {
    async deliver(batch, signal) {
      try {
        producer ??= await rejectOnAbort(connect(settings), signal)
        const messages = batch.map(createMessage)
        await rejectOnAbort(producer.send({ topic, acks: allReplicas, timeout: timeoutMs, messages }), signal)
      } catch (error) {
        // A client that lost its broker is not sure to find back to it: the next attempt begins with a new one.
        await drop()
        throw error
      }
    },
    close: drop,
  }
}

/** Connects with what the files hold now: a password that was changed is found by the attempt after the failed one. */
async function connect(settings: KafkaSettings): Promise<Producer> {
  const [{ default: kafkajs }, config] = await Promise.all([import('kafkajs'), createKafkaConfig(settings)])
  const producer = new kafkajs.Kafka(config).producer({
    allowAutoTopicCreation: false,
    maxInFlightRequests: 1,
  })
  try {
    await producer.connect()
  } catch (error) {
    await producer.disconnect().catch(() => undefined)
    throw error
  }
  return producer
}

function createMessage({ id, key, text }: Delivery) {
  return { key, value: text, headers: { id } }
}

async function createKafkaConfig({ brokers, tls, sasl, timeoutMs }: KafkaSettings): Promise<KafkaConfig> {
  return {
    clientId: 'catalog-gateway',
    brokers,
    connectionTimeout: timeoutMs,
    authenticationTimeout: timeoutMs,
    requestTimeout: timeoutMs,
    enforceRequestTimeout: true,
    // Whoever calls tries again, with pauses that grow.
    retry: { retries: 0 },
    // Failures are reported by whoever calls.
    logCreator: () => () => undefined,
    ...(tls && { ssl: { ...(await readTlsFiles(tls, 'of an audit sink')) } }),
    ...(sasl && { sasl: await readSaslOptions(sasl) }),
  }
}

async function readSaslOptions(login: NonNullable<KafkaSettings['sasl']>): Promise<SASLOptions> {
  const { mechanism, username, passwordFile } = login
  return { mechanism, username, password: (await readFile(passwordFile, 'utf8')).trim() }
}
