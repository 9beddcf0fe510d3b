import { workerLogFolder } from '../audit/storage/log-folders.ts'
import { getGeneratedRedactionKeyFile } from '../audit/records/redaction.ts'
import { getGeneratedSealKeyFile } from '../audit/records/seal-key.ts'
import type { AuditSettings } from '../config/audit/audit-settings.ts'
import type { GatewaySettings } from '../config/gateway-settings.ts'

/** The least that a part of a log can be kept to, as for a whole one. */
const minLogBytes = 1024 * 1024

/**
 * The settings of one of several workers, which have the numbers from 1. What is allowed in all is divided: together
 * they take no more than one process would, but each may have one of everything. What bounds a single request, its memory
 * or its time is as it was; rates and bytes are counted for all of them together (count-charges.ts).
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

/** The audit log of each lies in a folder of its own, and is signed and redacted with the same keys. */
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

/** The shares of all are the total again, where none of them has to be the least. */
function divideTotal(total: number, number: number, workers: number, least: number): number {
  return Math.max(least, Math.floor(total / workers) + (number <= total % workers ? 1 : 0))
}
