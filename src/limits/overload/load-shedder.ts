import { CatalogError } from '../../catalog-api/catalog-error.ts'
import type { OperationName } from '../../catalog-api/operations.ts'
import type { CapacityHolder } from './fair-capacity.ts'
import { createShedController, type ShedController } from './shed-controller.ts'
import { shedClasses, getShedClass, type ShedClass } from './shed-class.ts'

/** Refuses some of the requests where not all can be served in time: rows before listings, small reads never. */
export interface LoadShedder {
  /** Throws Overloaded (503) for a request of that principal that is not let in. */
  admit(upstream: string, operation: OperationName, holder: CapacityHolder): void
  /** Throws Overloaded (503) for a document that is not sent now: documents are shed like listings. */
  admitDocument(): void
  /** The share of each class that is refused, from 0 to 1, by upstream. */
  shedRatios(): readonly { readonly upstream: string; readonly class: ShedClass; readonly share: number }[]
  close(): void
}

/** Something that requests wait for. */
export interface QueueDelay {
  /** Milliseconds since the oldest pending request arrived; 0 if there is none. */
  oldestPendingMs(): number
}

/** The slots of a connection pool, as far as load shedding is concerned. */
interface PoolLoad {
  /** Milliseconds since the oldest pending request came; 0 if there is none. */
  oldestPendingMs(): number
  /** Whether a request of the principal would get a slot without waiting. */
  isFreeFor(holder: CapacityHolder): boolean
}

/** An upstream that requests wait for. */
export interface UpstreamLoad {
  readonly name: string
  readonly slots: { readonly small: PoolLoad; readonly bulk: PoolLoad }
}

/** The gateway has no capacity for the request: 503 with `retry-after`. */
export class Overloaded extends CatalogError {
  constructor() {
    // Clients that retry at the same moment would overload it again.
    const seconds = String(1 + Math.floor(Math.random() * 5))
    super('ServiceUnavailable', 'overloaded: retry later', {
      reason: 'overloaded',
      headers: { 'retry-after': seconds },
    })
  }
}

const tickMs = 50

/**
 * Watches how long the event loop lags, how long requests wait for their turn in it, and how long for each connection
 * pool. While that stays over `mostDelayMs`, more and more is refused: of everything if the process is behind, else of
 * what would wait for that pool. What would not wait is let in: the upstream never has less to do because of what was
 * refused, and principals that are within their share are not refused because others wait for theirs.
 */
export function createLoadShedder(
  maxDelayMs: number,
  queue: QueueDelay,
  upstreams: readonly UpstreamLoad[],
): LoadShedder {
  const process = createShedController(maxDelayMs)
  const refusesAll = createEvenShedder(process)
  const gates = new Map(
    upstreams.map(
      ({ name, slots: { small, bulk } }) =>
        [
          name,
          { small: createPoolShedder(small, maxDelayMs), bulk: createPoolShedder(bulk, maxDelayMs) },
        ] as const,
    ),
  )
  let expectedAt = performance.now() + tickMs
  const timer = setInterval(() => {
    const now = performance.now()
    process.observe(Math.max(now - expectedAt, queue.oldestPendingMs()))
    expectedAt = now + tickMs
    for (const { small, bulk } of gates.values())
      for (const { pool, pressure } of [small, bulk]) pressure.observe(pool.oldestPendingMs())
  }, tickMs).unref()
  return {
    admit(upstream, operation, holder) {
      const of = getShedClass(operation)
      if (of === undefined) return
      const gate = gates.get(upstream)?.[getPool(of)]
      const isRefused = gate !== undefined && !gate.pool.isFreeFor(holder) && gate.refuses(of)
      if (refusesAll(of) || isRefused) throw new Overloaded()
    },
    admitDocument() {
      if (refusesAll('listing')) throw new Overloaded()
    },
    shedRatios: () =>
      [...gates].flatMap(([upstream, gate]) =>
        shedClasses.map((each) => ({
          upstream,
          class: each,
          share: Math.max(process.shedRatio(each), gate[getPool(each)].pressure.shedRatio(each)),
        })),
      ),
    close: () => clearInterval(timer),
  }
}

function createPoolShedder(pool: PoolLoad, mostDelayMs: number) {
  const pressure = createShedController(mostDelayMs)
  return { pool, pressure, refuses: createEvenShedder(pressure) }
}

function getPool(of: ShedClass): 'small' | 'bulk' {
  return of === 'bulk' ? 'bulk' : 'small'
}

/** Refuses of each class as many as its share says, spread evenly. */
function createEvenShedder(pressure: ShedController): (of: ShedClass) => boolean {
  const owed = { bulk: 0, data: 0, listing: 0 }
  return (of) => {
    const capacity = pressure.shedRatio(of)
    owed[of] = capacity === 0 ? 0 : owed[of] + capacity
    if (owed[of] < 1) return false
    owed[of] -= 1
    return true
  }
}
