import { translateEngineError } from './native-errors.ts'

const maxAttempts = 5

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
