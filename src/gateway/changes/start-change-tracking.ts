import { Counter, Gauge, type Registry } from 'prom-client'
import type { AuditLog } from '../../audit/log/audit-log.ts'
import { readInDoubtChanges } from '../../audit/in-doubt/in-doubt-changes.ts'
import type { ComparisonEntry, IntentReference, OutOfBandVersions } from '../../audit/records/audit-record.ts'
import type { AuditSettings } from '../../config/audit/audit-settings.ts'
import { TableHistory } from '../../audit/in-doubt/table-history.ts'
import type { Logger } from '../../observability/log/gateway-log.ts'
import { createLogThrottle } from '../../observability/log/log-throttle.ts'
import { memoize } from '../../lib/memoize.ts'
import { createChangeTracker, type ChangeTracker } from './change-tracker.ts'
import { createVersionObserver } from './version-observer.ts'
import { createOutcomeResolver } from './outcome-resolver.ts'
import { createComparisonObserver } from './comparison-observer.ts'
import { startVersionComparer } from './version-comparer.ts'
import type { Upstreams } from '../upstream/upstreams.ts'

/** The change tracking of a running gateway. */
export interface RunningChangeTracking {
  readonly tracker: ChangeTracker
  /** Lists the intents of in-doubt changes that are being resolved. */
  listInDoubtIntents(): IntentReference[]
  /** Aborts lookups; the next start resumes unresolved changes. */
  close(): Promise<void>
}

interface ChangeTrackingOptions {
  readonly audit: AuditLog
  readonly settings: AuditSettings
  readonly upstreams: Upstreams
  readonly registry: Registry
  readonly log: Logger
}

/** A script that bypasses the gateway must not fill its log. */
const maxLinesPerSecond = 10

/**
 * Reads tables and in-doubt changes from the newest part of the audit log, starts resolving the latter, tracks new
 * changes, and compares the versions of upstreams if the settings say so. Rejects if the log cannot be read.
 */
export async function startChangeTracking(options: ChangeTrackingOptions): Promise<RunningChangeTracking> {
  const { audit, settings, upstreams, log } = options
  const history = new TableHistory()
  const requests = await readInDoubtChanges(settings.folder, history)
  const metrics = createChangeMetrics(options.registry, () => resolver.listInDoubtIntents().length)
  const lines = createLogThrottle(maxLinesPerSecond)
  const onOutOfBand = (
    outOfBand: readonly OutOfBandVersions[],
    source: { requestId: string } | { upstream: string },
  ): void => {
    for (const { id, branch, from, to } of outOfBand) {
      metrics.outOfBand.inc(to - from + 1)
      const suppressed = lines.take('out of band')
      if (suppressed === undefined) continue
      log.warn({ id, branch, from, to, ...source, suppressed }, 'out-of-band versions found')
    }
  }
  const resolver = createOutcomeResolver({
    audit,
    history,
    upstreams: upstreams.all,
    isContinuous: settings.continuity !== 'off',
    times: {
      settleTimeMs: settings.resolution.gracePeriodSeconds * 1_000,
      maxAgeMs: settings.resolution.maxAgeHours * 3_600_000,
    },
    onResolved({ result, evidence, outOfBand = [] }, { intent: { request } }) {
      metrics.resolved.inc({ result })
      onOutOfBand(outOfBand, { requestId: request })
      log.info({ requestId: request, result, evidence }, 'in-doubt change resolved')
    },
  })
  for (const request of requests) resolver.add(request)
  const observer = createVersionObserver(upstreams.all)
  const tracker = createChangeTracker({
    history,
    chain: audit.chain,
    isContinuous: settings.continuity !== 'off',
    resolve: (request) => resolver.add(request),
    observeVersion: (entry) => observer.observe(entry),
    onOutOfBand: (outOfBand, requestId) => onOutOfBand(outOfBand, { requestId }),
    onEnd({ operation, effect }, result) {
      if (effect !== 'read') metrics.change(operation, effect, result).inc()
    },
  })
  const comparer = startVersionComparer({
    audit,
    history,
    upstreams,
    onDifference({ upstream, id, before, version, outOfBand }: ComparisonEntry) {
      if (outOfBand !== undefined) onOutOfBand(outOfBand, { upstream })
      else log.warn({ id, before, version, upstream }, 'lower version found')
    },
    onRound: createComparisonObserver(options.registry, log),
  })
  return {
    tracker,
    listInDoubtIntents: () => resolver.listInDoubtIntents(),
    async close() {
      await Promise.all([observer.close(), resolver.close(), comparer.close()])
    },
  }
}

function createChangeMetrics(registry: Registry, countInDoubt: () => number) {
  const registers = [registry]
  const changes = new Counter({
    name: 'catalog_gateway_changes_total',
    help: 'Recorded changes by operation, effect (change, commit) and result (committed, rejected, failed, unknown).',
    labelNames: ['operation', 'effect', 'result'],
    registers,
  })
  return {
    change: memoize((operation: string, effect: string, result: string) =>
      changes.labels(operation, effect, result),
    ),
    open: new Gauge({
      name: 'catalog_gateway_audit_in_doubt_changes',
      help: 'In-doubt changes: the outcome is unknown and not resolved yet.',
      registers,
      collect() {
        this.set(countInDoubt())
      },
    }),
    resolved: new Counter({
      name: 'catalog_gateway_audit_resolutions_total',
      help: 'Resolved in-doubt changes by result (committed, not_committed, taken, undecided).',
      labelNames: ['result'],
      registers,
    }),
    outOfBand: new Counter({
      name: 'catalog_gateway_out_of_band_versions_total',
      help: 'Table versions that appeared in the catalog and were not made through this gateway.',
      registers,
    }),
  }
}
