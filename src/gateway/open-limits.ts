import type { Registry } from 'prom-client'
import { createLimits, type Limits } from '../limits/limits.ts'
import type { Connection } from '../limits/shared/connection.ts'
import { shareAmongWorkers } from '../limits/shared/share-among-workers.ts'
import type { SharedLimits } from '../limits/shared/share-limits.ts'
import type { Logger } from '../telemetry/log.ts'
import type { ExchangeObserver } from '../limits/shared/exchange.ts'
import type { LimitSettings } from '../config/listen-settings.ts'
import { observeSharedLimits } from './observe/observe-shared-limits.ts'

/** What callers may take, and where it is counted if not here alone. */
export interface OpenedLimits {
  readonly fairness: Limits
  readonly shared: SharedLimits | undefined
}

/**
 * Opens the limits. Where it is one of several workers, what `charge` counts is counted for all of them. Throws where a
 * file of the settings cannot be used; it is not waited for long for anything else.
 */
export async function openLimits(
  settings: LimitSettings,
  registry: Registry,
  log: Logger,
  charge?: Connection['charge'],
): Promise<OpenedLimits> {
  const observer = observeSharedLimits(registry, log, settings.shared)
  const shared = await openShared(settings.shared, observer, charge)
  if (shared === undefined) return { fairness: createLimits(settings), shared }
  const fairness = createLimits(settings, shared.makeBuckets)
  await shared.start()
  return { fairness, shared }
}

async function openShared(
  settings: LimitSettings['shared'],
  observer: ExchangeObserver,
  charge: Connection['charge'] | undefined,
): Promise<SharedLimits | undefined> {
  if (settings === undefined) return charge && shareAmongWorkers(charge)
  // Loaded here, so that whoever shares nothing does not carry the library in memory.
  const library = await import('../limits/shared/share-limits.ts')
  return library.shareLimits(settings, observer)
}
