import { setTimeout } from 'node:timers/promises'
import type { CatalogDatabase } from './database-schema.ts'
import { isConflict } from './postgres-errors.ts'
import { Backoff } from 'catalog-gateway/lib'

const maxAttempts = 12
const pauseBounds = { minMs: 2, maxMs: 50 }

/**
 * Makes every transaction serializable, as in SQLite. Conflicting ones are retried a bounded number of times, so their
 * work must have no side effects outside the database. An error of `checkCommit` prevents the commit.
 */
export function withSerializableTransactions(
  database: CatalogDatabase,
  checkCommit: () => void,
): CatalogDatabase {
  const begin = database.transaction.bind(database)
  const transaction: CatalogDatabase['transaction'] = () => {
    const builder = begin().setIsolationLevel('serializable')
    const execute = builder.execute.bind(builder)
    const executeWithRetries: typeof execute = (work) =>
      withRetries(() =>
        execute(async (transactionDatabase) => {
          const result = await work(transactionDatabase)
          checkCommit()
          return result
        }),
      )
    return Object.assign(builder, { execute: executeWithRetries })
  }
  return Object.assign(database, { transaction })
}

async function withRetries<Result>(run: () => Promise<Result>): Promise<Result> {
  const pauses = new Backoff(pauseBounds)
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run()
    } catch (error) {
      if (!isConflict(error) || attempt === maxAttempts) throw error
      // Random pauses keep the same transactions from colliding again.
      await setTimeout(pauses.next())
    }
  }
}
