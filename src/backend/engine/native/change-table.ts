import type { TablePoint } from '../table-point.ts'
import { translateEngineError } from './native-errors.ts'
import type { NativeTable } from './native-module.ts'
import { openTable, type EngineContext } from './open-table.ts'

const maxAttempts = 5

/**
 * Changes a table, one change at a time. Concurrent changes mostly conflict, and the engine repeats all work of one that
 * has lost, so that a long change would lose to every stream of short ones.
 */
export async function changeTable<Result>(
  context: EngineContext,
  point: TablePoint,
  change: (table: NativeTable) => Promise<Result>,
): Promise<Result> {
  return await context.changes.runExclusive(point.location, () =>
    retryConflicts(async () => change(await openTable(context, point))),
  )
}

/** Retries a write that lost to a concurrent one, which has written nothing. `write` must open the table itself. */
export async function retryConflicts<Result>(write: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write()
    } catch (error) {
      const failure = translateEngineError(error)
      if (failure.kind !== 'ConcurrentModification' || attempt === maxAttempts) throw failure
    }
  }
}
