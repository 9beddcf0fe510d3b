import { setTimeout } from 'node:timers/promises'
import type { CatalogDatabase } from './database-schema.ts'
import { isConflict } from './postgres-errors.ts'

const maxAttempts = 12
const maxPauseMs = 50

/**
 * Makes every transaction of a database as if it ran alone, as those of SQLite do, for work that looks before it
 * writes. PostgreSQL refuses the later ones of transactions that would not be; they are run again, a bounded number
 * of times, so their work must have no effects besides the database. `check` is called before each commit, and
 * what it throws prevents the commit.
 */
export function withSerializableTransactions(database: CatalogDatabase, check: () => void): CatalogDatabase {
  const begin = database.transaction.bind(database)
  const transaction: CatalogDatabase['transaction'] = () => {
    const builder = begin().setIsolationLevel('serializable')
    const execute = builder.execute.bind(builder)
    const executeRetrying: typeof execute = (work) =>
      withRetries(() =>
        execute(async (within) => {
          const result = await work(within)
          check()
          return result
        }),
      )
    return Object.assign(builder, { execute: executeRetrying })
  }
  return Object.assign(database, { transaction })
}

async function withRetries<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run()
    } catch (error) {
      if (!isConflict(error) || attempt === maxAttempts) throw error
      // Those who met must not meet again.
      await setTimeout(Math.random() * Math.min(2 ** attempt, maxPauseMs))
    }
  }
}
