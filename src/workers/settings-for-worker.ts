import { workerLogFolder } from '../audit/storage/log-folders.ts'
import { getGeneratedRedactionKeyFile } from '../audit/records/redaction.ts'
import { getGeneratedSealKeyFile } from '../audit/records/seal-key.ts'
import type { AuditSettings } from '../config/audit/audit-settings.ts'
import type { LastGoodSettings } from '../config/policy-settings.ts'
import type { GatewaySettings } from '../config/gateway-settings.ts'
import { getGeneratedTokenKeyFile } from '../gateway/listing/page-tokens.ts'

/** Minimum size limit of a log, whole or divided. */
const minLogBytes = 1024 * 1024

/**
 * Workers are numbered from 1; all have the same token key. Totals are divided among them, but each worker is allowed at
 * least one of everything. Limits of one request are unchanged; rates and bytes are counted for all workers together
 * (start-workers.ts).
 */
export function createWorkerSettings(
  settings: GatewaySettings,
  number: number,
  workers: number,
): GatewaySettings {
  const divide = (total: number, min = 1): number => divideTotal(total, number, workers, min)
  const { limits, upstreams, policies, audit, listing } = settings
  const { lastGood } = policies
  const { maxConnectionsPerAddress, failedAuthentications, concurrency } = limits
  return {
    ...settings,
    limits: {
      ...limits,
      maxConnections: divide(limits.maxConnections),
      maxJsonMemoryBytes: divide(limits.maxJsonMemoryBytes, limits.maxJsonBytes),
      ...(maxConnectionsPerAddress !== undefined && {
        maxConnectionsPerAddress: divide(maxConnectionsPerAddress),
      }),
      ...(failedAuthentications && {
        failedAuthentications: {
          perSecond: failedAuthentications.perSecond / workers,
          burst: divide(failedAuthentications.burst),
        },
      }),
      concurrency: concurrency.map((limit) => ({ ...limit, maxRequests: divide(limit.maxRequests) })),
    },
    upstreams: upstreams.map((upstream) => ({
      ...upstream,
      maxConnections: divide(upstream.maxConnections),
      maxBulkConnections: divide(upstream.maxBulkConnections),
    })),
    policies: { ...policies, ...(lastGood && { lastGood: createWorkerLastGoodSettings(lastGood, number) }) },
    audit: createWorkerAuditSettings(audit, number, workers),
    ...(listing === undefined &&
      number > 1 && { listing: { tokenKeyFile: getGeneratedTokenKeyFile(audit.folder) } }),
  }
}

/** Each worker compares the policies that it has stored with its own log. */
function createWorkerLastGoodSettings(lastGood: LastGoodSettings, number: number): LastGoodSettings {
  return { ...lastGood, folder: workerLogFolder(lastGood.folder, number) }
}

/** Each log has its own folder; all are signed and redacted with the same keys. */
export function createWorkerAuditSettings(
  audit: AuditSettings,
  number: number,
  workers: number,
): AuditSettings {
  const { folder, sealKeyFile, redaction, reserveBytes, retention } = audit
  const isFirst = number === 1
  return {
    ...audit,
    folder: workerLogFolder(folder, number),
    sealKeyFile: sealKeyFile ?? (isFirst ? undefined : getGeneratedSealKeyFile(folder)),
    redaction: {
      ...redaction,
      keyFile: redaction.keyFile ?? (isFirst ? undefined : getGeneratedRedactionKeyFile(folder)),
    },
    reserveBytes: divideTotal(reserveBytes, number, workers, 0),
    retention: {
      ...retention,
      ...(retention.maxBytes !== undefined && {
        maxBytes: divideTotal(retention.maxBytes, number, workers, minLogBytes),
      }),
    },
  }
}

/** The parts add up to the total unless the minimum applies. */
function divideTotal(total: number, number: number, workers: number, min: number): number {
  return Math.max(min, Math.floor(total / workers) + (number <= total % workers ? 1 : 0))
}
