import { getOperation, type Operation, operationNames } from '../../catalog-api/index.ts'
import { type FairCapacity, Overloaded } from './fair-capacity.ts'

/** In the order of shedding. */
export const shedClasses = ['bulk', 'data', 'listing'] as const

export type ShedClass = (typeof shedClasses)[number]

/**
 * `bulk` transfers rows as Arrow and blobs, `data` processes rows, `listing` returns pages. Others are never shed:
 * descriptions are small, and other requests wait for changes such as commits.
 */
export function getShedClass({ body, response, group, query }: Operation): ShedClass | undefined {
  if (body === 'arrow' || (response !== 'json' && response !== 'empty')) return 'bulk'
  if (group === 'query' || group === 'write') return 'data'
  return query.has('page_token') ? 'listing' : undefined
}

/**
 * The connection pools of an upstream. `bulk` is for requests whose body streams, up or down: a slow client holds such
 * a connection for as long as it likes. `listing` is for the reads of listings: one listing may need dozens of them.
 * `small` is for all others, which never wait for a client.
 */
export const poolNames = ['small', 'bulk', 'listing'] as const

export type PoolName = (typeof poolNames)[number]

/** Returns the pool for requests of an operation, unless a large JSON body makes one `bulk`. */
export function getPoolName(operation: Operation): PoolName {
  if (operation.lists !== undefined) return 'listing'
  return getShedClass(operation) === 'bulk' ? 'bulk' : 'small'
}

/** Sheds requests for rows before listings, and small reads never. */
export type LoadShedder = ReturnType<typeof createLoadShedder>

export interface QueueDelay {
  /** Milliseconds since the oldest pending request arrived; 0 if there is none. */
  oldestPendingMs(): number
}

export interface UpstreamLoad {
  readonly name: string
  readonly slots: Readonly<Record<PoolName, QueueDelay & Pick<FairCapacity, 'canTake'>>>
}

const tickMs = 50

/**
 * Monitors the event loop lag, the delay of requests queued in it, and the queue delay of each connection pool. While a
 * delay exceeds `maxDelayMs`, an increasing ratio is refused: of all requests if the process is overloaded, else of
 * those that would wait for that pool, so that principals within their fair share are not refused because others queue.
 */
export function createLoadShedder(queue: QueueDelay, upstreams: readonly UpstreamLoad[], maxDelayMs = 1_000) {
  const ofProcess = new Shedder(maxDelayMs)
  const ofPools = new Map<QueueDelay, Shedder>()
  for (const { slots } of upstreams)
    for (const pool of poolNames) ofPools.set(slots[pool], new Shedder(maxDelayMs))
  let expectedAt = performance.now() + tickMs
  const timer = setInterval(() => {
    const now = performance.now()
    ofProcess.observe(Math.max(now - expectedAt, queue.oldestPendingMs()))
    expectedAt = now + tickMs
    for (const [pool, shedder] of ofPools) shedder.observe(pool.oldestPendingMs())
  }, tickMs).unref()
  return {
    /** Throws Overloaded (503) if the request is shed. */
    admit({ slots }: UpstreamLoad, operation: Operation, holder: string): void {
      const shedClass = getShedClass(operation)
      if (shedClass === undefined) return
      const pool = slots[getPoolName(operation)]
      const isRefused = !pool.canTake(holder) && ofPools.get(pool)?.shouldShed(shedClass)
      if (ofProcess.shouldShed(shedClass)) throw new Overloaded()
      if (isRefused) throw new Overloaded('too many requests wait for a connection to the upstream')
    },
    /** Throws Overloaded (503) if the document is shed; documents are shed like listings. */
    admitDocument(): void {
      if (ofProcess.shouldShed('listing')) throw new Overloaded()
    },
    /** Ratio of shed requests per class and upstream, from 0 to 1. */
    shedRatios: () =>
      upstreams.flatMap(({ name: upstream, slots }) =>
        shedClasses.map((shedClass) => {
          const ratios = listPools(shedClass).map(
            (pool) => ofPools.get(slots[pool])?.shedRatio(shedClass) ?? 0,
          )
          return { upstream, class: shedClass, ratio: Math.max(ofProcess.shedRatio(shedClass), ...ratios) }
        }),
      ),
    close: (): void => clearInterval(timer),
  }
}

/** Lists the pools that operations of a class use. */
function listPools(shedClass: ShedClass): readonly PoolName[] {
  const ofClass = operationNames.map(getOperation).filter((one) => getShedClass(one) === shedClass)
  return [...new Set(ofClass.map(getPoolName))]
}

const risePerTick = 0.1
/** A single tick is not conclusive, regardless of its delay. */
const maxRisePerTick = 0.4
const fallPerTick = 0.05
/** Excess that must accumulate before anything is refused: ignores short delays. */
const slack = 1

/**
 * The ratio rises in proportion to the excess delay and falls more slowly, so that it converges. If the overload persists,
 * the classes are shed one after the other.
 */
export class Shedder {
  readonly #maxDelayMs: number
  #pressure = 0
  readonly #accumulated = { bulk: 0, data: 0, listing: 0 }

  constructor(maxDelayMs: number) {
    this.#maxDelayMs = maxDelayMs
  }

  /** Must be called with the current delay at every tick. */
  observe(delayMs: number): void {
    const rise = Math.min(maxRisePerTick, (risePerTick * delayMs) / this.#maxDelayMs)
    const change = delayMs > this.#maxDelayMs ? rise : -fallPerTick
    this.#pressure = Math.min(slack + shedClasses.length, Math.max(0, this.#pressure + change))
  }

  shedRatio(shedClass: ShedClass): number {
    return Math.min(1, Math.max(0, this.#pressure - slack - shedClasses.indexOf(shedClass)))
  }

  /** Spreads the refusals of each class evenly. */
  shouldShed(shedClass: ShedClass): boolean {
    const accumulated = this.#accumulated
    const ratio = this.shedRatio(shedClass)
    accumulated[shedClass] = ratio === 0 ? 0 : accumulated[shedClass] + ratio
    if (accumulated[shedClass] < 1) return false
    accumulated[shedClass] -= 1
    return true
  }
}
