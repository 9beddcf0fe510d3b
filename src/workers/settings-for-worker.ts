import { workerLogFolder } from '../audit/storage/log-folders.ts'
import { getGeneratedRedactionKeyFile } from '../audit/records/redaction.ts'
import { getGeneratedSealKeyFile } from '../audit/records/seal-key.ts'
import type { AuditSettings } from '../config/audit/audit-settings.ts'
import type { GatewaySettings } from '../config/gateway-settings.ts'

/** Minimum size limit of a log, whole or divided. */
const minLogBytes = 1024 * 1024

/**
 * Returns the settings of one of `workers` workers, numbered from 1. Totals are divided: all workers together use no
 * more than one process would, but each is allowed at least one of everything. Limits on a single request, its memory
 * or its time are unchanged; rates and bytes are counted for all workers together (charge-counter.ts).
 */
export function createWorkerSettings(
  settings: GatewaySettings,
  number: number,
  workers: number,
): GatewaySettings {
  const capacity = (total: number, least = 1): number => divideTotal(total, number, workers, least)
  const { limits, upstreams, audit } = settings
  const { maxConnectionsPerAddress, failedAuthentications, concurrency } = limits
  return {
    ...settings,
    limits: {
      ...limits,
      maxConnections: capacity(limits.maxConnections),
      maxJsonMemoryBytes: capacity(limits.maxJsonMemoryBytes, limits.maxJsonBytes),
      ...(maxConnectionsPerAddress !== undefined && {
        maxConnectionsPerAddress: capacity(maxConnectionsPerAddress),
      }),
      ...(failedAuthentications && {
        failedAuthentications: {
          perSecond: failedAuthentications.perSecond / workers,
          burst: capacity(failedAuthentications.burst),
        },
      }),
      concurrency: concurrency.map((limit) => ({ ...limit, maxRequests: capacity(limit.maxRequests) })),
    },
    upstreams: upstreams.map((upstream) => ({
      ...upstream,
      maxConnections: capacity(upstream.maxConnections),
      maxBulkConnections: capacity(upstream.maxBulkConnections),
      maxPendingRequests: capacity(upstream.maxPendingRequests, 0),
    })),
    audit: createWorkerAuditSettings(audit, number, workers),
  }
}

/** Each worker has its audit log in a folder of its own, signed and redacted with the same keys. */
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
function divideTotal(total: number, number: number, workers: number, least: number): number {
  return Math.max(least, Math.floor(total / workers) + (number <= total % workers ? 1 : 0))
}
