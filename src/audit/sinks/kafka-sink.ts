import type { KafkaConfig, Producer, SASLOptions } from 'kafkajs'
import { readSecret } from '../../lib/fs/read-secret.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import { readTlsFiles } from '../../lib/tls/tls-files.ts'
import type { KafkaSettings } from '../../config/audit/audit-sink-settings.ts'
import { ContentRefused, type Delivery, type Sink } from './sink.ts'
import { rejectOnAbort } from '../../lib/async/reject-on-abort.ts'

/** Errors of the protocol that are about a message. All others are about the broker, the topic or the connection. */
const contentErrors: ReadonlySet<unknown> = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_RECORD',
  'INVALID_TIMESTAMP',
])

/** Records are acknowledged by all in-sync replicas (`acks=all`). */
const allReplicas = -1

/**
 * Produces to an existing topic of a Kafka-compatible broker. One batch is in flight at a time, and records are keyed
 * by table, so that those of one table stay in order. The header `id` identifies duplicates. The client kafkajs has no
 * native code and no dependencies, and supports old and new brokers.
 */
export async function createKafkaSink(settings: KafkaSettings, outbound: Outbound): Promise<Sink> {
  const { topic, timeoutMs } = settings
  // Detect missing files at startup instead of at the first batch.
  await createKafkaConfig(settings, outbound)
  let producer: Producer | undefined
  const disconnect = async (): Promise<void> => {
    const old = producer
    producer = undefined
    // Errors from closing a broken connection are irrelevant.
    await old?.disconnect().catch(() => undefined)
  }
  return {
    async deliver(batch, signal) {
      try {
        producer ??= await connectUntilAbort(settings, outbound, signal)
        const messages = batch.map(createMessage)
        await rejectOnAbort(producer.send({ topic, acks: allReplicas, timeout: timeoutMs, messages }), signal)
      } catch (error) {
        // A client may not recover from a lost broker: the next attempt creates a new one. Not awaited, as the old one
        // waits for the responses to its requests.
        void disconnect()
        throw isContentError(error) ? new ContentRefused(String(error), { cause: error }) : error
      }
    },
    close: disconnect,
  }
}

/** The client wraps errors of the protocol in others. */
function isContentError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return ('type' in error && contentErrors.has(error.type)) || isContentError(error.cause)
}

/** Like `connect`, or rejects when `signal` aborts: a producer that connects later is closed. */
async function connectUntilAbort(
  settings: KafkaSettings,
  outbound: Outbound,
  signal: AbortSignal,
): Promise<Producer> {
  const connecting = connect(settings, outbound)
  try {
    return await rejectOnAbort(connecting, signal)
  } catch (error) {
    void connecting.then((late) => late.disconnect()).catch(() => undefined)
    throw error
  }
}

/** Connects with the current contents of the files: after a failed attempt, the next one uses a changed password. */
async function connect(settings: KafkaSettings, outbound: Outbound): Promise<Producer> {
  const [{ default: kafkajs }, config] = await Promise.all([
    import('kafkajs'),
    createKafkaConfig(settings, outbound),
  ])
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

async function createKafkaConfig(
  { brokers, tls, sasl, timeoutMs }: KafkaSettings,
  outbound: Outbound,
): Promise<KafkaConfig> {
  return {
    clientId: 'catalog-gateway',
    brokers,
    connectionTimeout: timeoutMs,
    authenticationTimeout: timeoutMs,
    requestTimeout: timeoutMs,
    enforceRequestTimeout: true,
    // The caller retries with increasing delays.
    retry: { retries: 0 },
    // The caller reports failures.
    logCreator: () => () => undefined,
    ...(tls && { ssl: { ...outbound.getTlsOptions(await readTlsFiles(tls, 'of an audit sink')) } }),
    ...(sasl && { sasl: await readSaslOptions(sasl) }),
  }
}

async function readSaslOptions(sasl: NonNullable<KafkaSettings['sasl']>): Promise<SASLOptions> {
  const { mechanism, username, passwordFile } = sasl
  return { mechanism, username, password: await readSecret(passwordFile) }
}
