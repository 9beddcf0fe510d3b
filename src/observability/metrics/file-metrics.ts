import { Counter, Gauge, type Registry } from 'prom-client'
import { createReloadLog, type ReloadObserver } from '../../lib/fs/file-follower.ts'
import type { Logger } from '../log/gateway-log.ts'

/** Logs and counts the reloads of files. `listFailing` returns the settings whose last reload failed. */
export function registerFileMetrics(
  registry: Registry,
  log: Logger,
  listFailing: () => readonly string[],
): ReloadObserver {
  const reloads = new Counter({
    name: 'catalog_gateway_file_reloads_total',
    help: 'Reloads of changed files by setting and result (success, failure).',
    labelNames: ['setting', 'result'],
    registers: [registry],
  })
  const outdated = new Gauge({
    name: 'catalog_gateway_files_outdated',
    help: 'Settings whose files could not be read at their last change; the last good value stays in use.',
    registers: [],
    collect() {
      this.set(listFailing().length)
    },
  })
  registry.registerMetric(outdated)
  const reloadLog = createReloadLog(log)
  return {
    reloaded(setting) {
      reloads.inc({ setting, result: 'success' })
      reloadLog.reloaded(setting)
    },
    failed(setting, cause) {
      reloads.inc({ setting, result: 'failure' })
      reloadLog.failed(setting, cause)
    },
  }
}
