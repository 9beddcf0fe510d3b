import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Client } from 'pg'
import { CatalogError } from 'catalog-gateway/catalog-api'
import { databaseUnavailableError } from './postgres-errors.ts'
import { Backoff, TimeoutExceeded, withTimeout } from 'catalog-gateway/lib'

interface LockSession {
  readonly client: Client
  readonly isLost: boolean
  /** Computes the keys of the statement from names. */
  readonly execute: (text: string, ...names: string[]) => Promise<boolean>
}

/** The timeout for a lock that another replica holds. */
const lockTimeoutMs = 60_000
const pauseBounds = { minMs: 1, maxMs: 20 }

const acquire = 'select pg_try_advisory_lock($1) as done'
/** The second key is that of the gate. Waiters hold it: otherwise a stream of other holders would starve them. */
const acquirePastGate =
  'select case when pg_try_advisory_xact_lock_shared($2) then pg_try_advisory_lock($1) else false end as done'
const release = 'select pg_advisory_unlock($1) as done'

export type AdvisoryLocks = ReturnType<typeof openAdvisoryLocks>

/**
 * Locks shared by all replicas on one PostgreSQL database; `scope` separates those of different catalogs. All locks of this
 * process live on one dedicated connection: when the process or the connection ends, PostgreSQL releases them. All work of a
 * process shares them: what must be excluded there as well takes them under a process-local lock.
 *
 * A process that loses the connection cannot stop work that runs under the locks. So single steps are safe (files get
 * their names by `link`, the catalog never chooses a location again), and `assertHeld` prevents commits under a lost lock.
 * What remains is the deletion of a registered dataset, whose location can be registered again meanwhile.
 *
 * `connect` opens a connection, and calls `onLost` when it breaks or ends, also while it is being opened. No statement waits
 * for a lock, so one that takes longer than the timeout shows that the connection is lost.
 */
export function openAdvisoryLocks(
  connect: (onLost: () => void) => Promise<Client>,
  scope: string,
  statementTimeoutMs: number,
) {
  const currentSession = new AsyncLocalStorage<LockSession>()
  let opened: Promise<LockSession> | undefined

  const computeKey = (name: string): string =>
    createHash('sha256').update(`${scope} ${name}`).digest().readBigInt64BE().toString()

  /** A connection; it runs one statement at a time. */
  async function openSession() {
    const session = { isLost: false }
    let last: Promise<unknown> = Promise.resolve()
    const lose = (): void => {
      // The next work opens another session.
      if (!session.isLost) opened = undefined
      session.isLost = true
    }
    const client = await connect(lose).catch((error: unknown) => {
      lose()
      throw error
    })
    const run = async (text: string, names: readonly string[]): Promise<boolean> => {
      if (session.isLost) throw databaseUnavailableError()
      const query = client.query<{ done: boolean }>({ text, values: names.map(computeKey) })
      try {
        const { rows } = await withTimeout(query, statementTimeoutMs)
        return rows[0]?.done === true
      } catch (error) {
        if (!(error instanceof TimeoutExceeded)) throw error
        lose()
        // Also frees the locks, if the server still answers.
        client.end().catch(() => undefined)
        throw databaseUnavailableError(error)
      }
    }
    const execute = async (text: string, ...names: string[]): Promise<boolean> => {
      const response = last.then(() => run(text, names))
      last = response.catch(() => undefined)
      return await response
    }
    return Object.assign(session, { client, execute })
  }

  async function waitForLock(session: LockSession, name: string): Promise<void> {
    const gate = `gate ${name}`
    const tryAcquire = () => session.execute(acquirePastGate, name, gate)
    if (await tryAcquire()) return
    const deadline = Date.now() + lockTimeoutMs
    const pauses = new Backoff(pauseBounds)
    let hasGate = false
    try {
      while (Date.now() < deadline) {
        if (!hasGate) hasGate = await session.execute(acquire, gate)
        await setTimeout(pauses.next())
        if (await tryAcquire()) return
      }
    } finally {
      if (hasGate) await session.execute(release, gate)
    }
    throw new CatalogError('ServiceUnavailable', 'another replica holds the lock of this object; retry', {
      headers: { 'retry-after': '5' },
    })
  }

  async function runHolding<Result>(
    session: LockSession,
    name: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    try {
      return await currentSession.run(session, work)
    } finally {
      // Not awaited: it precedes the next query of this process. A lost session holds no locks.
      session.execute(release, name).catch(() => undefined)
    }
  }

  /** Throws ServiceUnavailable (503) if the current work runs under a lost lock. */
  const assertHeld = (): void => {
    if (currentSession.getStore()?.isLost) throw databaseUnavailableError()
  }

  return {
    assertHeld,
    /** Runs `work` under a lock. Throws ServiceUnavailable (503) if another replica holds it past the timeout. */
    async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
      assertHeld()
      const session = await (opened ??= openSession())
      await waitForLock(session, name)
      return await runHolding(session, name, work)
    },
    /** Runs `work` under a lock unless another replica holds it. */
    async runIfFree(name: string, work: () => Promise<void>): Promise<void> {
      const session = await (opened ??= openSession())
      if (await session.execute(acquire, name)) await runHolding(session, name, work)
    },
    async close(): Promise<void> {
      const session = await opened?.catch(() => undefined)
      if (session === undefined) return
      await withTimeout(session.client.end(), statementTimeoutMs).catch(() => undefined)
    },
  }
}
