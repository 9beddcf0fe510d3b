import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Client } from 'pg'
import { CatalogError } from 'catalog-gateway/catalog-api'
import { databaseUnavailableError } from './postgres-errors.ts'
import { Backoff, TimeoutExceeded, withTimeout } from 'catalog-gateway/lib'

interface LockSession {
  readonly client: Client
  isLost: boolean
  /** Makes the next work open another session. */
  readonly lose: () => void
  /** The last query; a connection runs one at a time. */
  last: Promise<unknown>
}

/** Opens a connection; calls `onLost` when it breaks or ends, also while it is being opened. */
type Connect = (onLost: () => void) => Promise<Client>

/** The timeout for a lock that another replica holds. */
const lockTimeoutMs = 60_000
const pauseBounds = { minMs: 1, maxMs: 20 }

const acquire = 'select pg_try_advisory_lock($1) as done'
/** The second key is that of the gate. Waiters hold it: otherwise a stream of other holders would starve them. */
const acquirePastGate =
  'select case when pg_try_advisory_xact_lock_shared($2) then pg_try_advisory_lock($1) else false end as done'
const release = 'select pg_advisory_unlock($1) as done'

/**
 * Locks shared by all replicas on one PostgreSQL database. All locks of this process live on one dedicated connection:
 * when the process or the connection ends, PostgreSQL releases them. All work of a process shares them: what must be
 * excluded there as well takes them under a process-local lock.
 *
 * A process that loses the connection cannot stop work that runs under the locks. So single steps are safe (files get
 * their names by `link`, the catalog never chooses a location again), and `assertHeld` prevents commits under a lost lock.
 * What remains is the deletion of a registered dataset, whose location can be registered again meanwhile.
 */
export class AdvisoryLocks {
  readonly #connect: Connect
  /** Separates the locks of different catalogs. */
  readonly #scope: string
  readonly #statementTimeoutMs: number
  readonly #currentSession = new AsyncLocalStorage<LockSession>()
  #session: Promise<LockSession> | undefined

  /** No statement waits for a lock, so one that takes longer than the timeout shows that the connection is lost. */
  constructor(connect: Connect, scope: string, statementTimeoutMs: number) {
    this.#connect = connect
    this.#scope = scope
    this.#statementTimeoutMs = statementTimeoutMs
  }

  /** Runs `work` under a lock. Throws ServiceUnavailable (503) if another replica holds it past the timeout. */
  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    this.assertHeld()
    const session = await this.#getSession()
    await this.#acquire(session, name)
    return await this.#runHolding(session, name, work)
  }

  /** Runs `work` under a lock unless another replica holds it. */
  async runIfFree(name: string, work: () => Promise<void>): Promise<void> {
    const session = await this.#getSession()
    const isFree = await this.#execute(session, acquire, [this.#computeKey(name)])
    if (isFree) await this.#runHolding(session, name, work)
  }

  /** Throws ServiceUnavailable (503) if the current work runs under a lost lock. */
  assertHeld(): void {
    if (this.#currentSession.getStore()?.isLost) throw databaseUnavailableError()
  }

  async close(): Promise<void> {
    const session = await this.#session?.catch(() => undefined)
    if (session === undefined) return
    await withTimeout(session.client.end(), this.#statementTimeoutMs).catch(() => undefined)
  }

  async #runHolding<Result>(
    session: LockSession,
    name: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    try {
      return await this.#currentSession.run(session, work)
    } finally {
      // Not awaited: it precedes the next query of this process. A lost session holds no locks.
      this.#execute(session, release, [this.#computeKey(name)]).catch(() => undefined)
    }
  }

  async #acquire(session: LockSession, name: string): Promise<void> {
    const key = this.#computeKey(name)
    const gate = this.#computeKey(`gate ${name}`)
    const tryAcquire = () => this.#execute(session, acquirePastGate, [key, gate])
    if (await tryAcquire()) return
    const deadline = Date.now() + lockTimeoutMs
    const pauses = new Backoff(pauseBounds)
    let hasGate = false
    try {
      while (Date.now() < deadline) {
        if (!hasGate) hasGate = await this.#execute(session, acquire, [gate])
        await setTimeout(pauses.next())
        if (await tryAcquire()) return
      }
    } finally {
      if (hasGate) await this.#execute(session, release, [gate])
    }
    throw new CatalogError('ServiceUnavailable', 'another replica holds the lock of this object; retry', {
      headers: { 'retry-after': '5' },
    })
  }

  #getSession(): Promise<LockSession> {
    return (this.#session ??= this.#openSession())
  }

  async #openSession(): Promise<LockSession> {
    const state = { isLost: false, last: Promise.resolve() }
    const lose = (): void => {
      if (!state.isLost) this.#session = undefined
      state.isLost = true
    }
    try {
      return Object.assign(state, { client: await this.#connect(lose), lose })
    } catch (error) {
      lose()
      throw error
    }
  }

  #computeKey(name: string): string {
    return createHash('sha256').update(`${this.#scope} ${name}`).digest().readBigInt64BE().toString()
  }
  async #execute(session: LockSession, text: string, values: string[]): Promise<boolean> {
    const response = session.last.then(async () => {
      if (session.isLost) throw databaseUnavailableError()
      const query = session.client.query<{ done: boolean }>({ text, values })
      try {
        const { rows } = await withTimeout(query, this.#statementTimeoutMs)
        return rows[0]?.done === true
      } catch (error) {
        if (!(error instanceof TimeoutExceeded)) throw error
        session.lose()
        // Also frees the locks, if the server still answers.
        session.client.end().catch(() => undefined)
        throw databaseUnavailableError(error)
      }
    })
    session.last = response.catch(() => undefined)
    return await response
  }
}
