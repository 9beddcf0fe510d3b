import { sql, type RawBuilder } from 'kysely'
import type { runningBackend } from './running-backend.ts'

/**
 * Restarts a catalog with a database that refuses a second row of the table with this value of the column, which makes a
 * certain write fail. Returns a function that restarts it with one that accepts the row.
 */
export async function refuseSecondValue(
  backend: Awaited<ReturnType<typeof runningBackend>>,
  [table, column, value]: readonly [table: string, column: string, value: string],
): Promise<() => Promise<void>> {
  const execute = async (statement: RawBuilder<unknown>) => {
    await backend.stop()
    const { database, close } = await backend.openDatabase()
    await statement.execute(database)
    await close()
    await backend.restart()
  }
  const target = sql`${sql.table(table)} (${sql.ref(column)}) where ${sql.ref(column)} = ${sql.lit(value)}`
  await execute(sql`create unique index refused on ${target}`)
  return () => execute(sql`drop index refused`)
}
