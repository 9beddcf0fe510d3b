import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { pino } from 'pino'
import { openAuditLog, type AuditLog, type AuditLogOptions } from '../../../src/audit/log/audit-log.ts'
import {
  openSinks,
  type DeliveryTuning,
  type SinkObserver,
  type Sinks,
} from '../../../src/audit/sinks/open-sinks.ts'
import { sinksSchema } from '../../../src/config/audit-settings.ts'
import { createFileFollower } from '../../../src/lib/fs/follow-files.ts'
import { openOutbound } from '../../../src/outbound/outbound.ts'
import { logOptions, segmentsOf } from '../audit-fixtures.ts'

export interface LogWithSinks {
  readonly log: AuditLog
  readonly sinks: Sinks
  readonly failures: unknown[]
  readonly rejections: string[]
  readonly close: () => Promise<void>
}

/** Opens a log and its sinks like the gateway. They are closed at the end of the test. */
export async function openLogWithSinks(
  folder: string,
  sinkSettings: readonly object[],
  changed: Partial<AuditLogOptions> = {},
  tuning: Partial<DeliveryTuning> = {},
): Promise<LogWithSinks> {
  const failures: unknown[] = []
  const rejections: string[] = []
  const observer: SinkObserver = {
    delivered: () => undefined,
    failed: (_, error) => failures.push(error),
    rejected: (_, records, message) => rejections.push(`${records} ${message}`),
  }
  const settings = sinksSchema.parse(sinkSettings)
  const resource = { gateway: 'gateway-0', software: '0.1.0' }
  const files = createFileFollower(pino({ level: 'silent' }))
  onTestFinished(() => files.close())
  const sinks = await openSinks({
    folder,
    settings,
    tuning: { ...quickly, ...tuning },
    resource,
    observer,
    outbound: await openOutbound({}, {}, files.follow),
  })
  const log = await openAuditLog({
    ...logOptions(folder, changed),
    retention: { ...changed.retention, oldestNeededSegment: sinks.oldestNeededSegment },
  })
  sinks.start(() => log.durableEnd())
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => (closing ??= log.close().then(() => sinks.close()))
  onTestFinished(close)
  return { log, sinks, failures, rejections, close }
}

/** The timeout is the default: a receiver that responds gets no record twice, however slow this machine is. */
export function otlpSettings(url: string, changed: object = {}): object {
  return { name: 'receiver', type: 'otlp', url, ...changed }
}

/** The batches of tests hardly wait. */
export const quickly = { maxWaitMs: 5, minBackoffMs: 10, maxBackoffMs: 40 }

/** Reads all lines of the log, independently of the code under test. */
export async function linesInLog(folder: string): Promise<string[]> {
  const texts = (await segmentsOf(folder)).map((file) => readFile(join(folder, file), 'utf8'))
  return (await Promise.all(texts)).flatMap((text) => text.split('\n').slice(0, -1))
}
