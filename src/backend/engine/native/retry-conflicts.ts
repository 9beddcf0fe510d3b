import { translateEngineError } from './native-errors.ts'

const attempts = 5

/**
 * Runs a write that opens the table anew each time, and again when another writer was faster: the engine has
 * written nothing then. After the last attempt the ConcurrentModification is thrown.
 */
export async function retryConflicts<Result>(write: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write()
    } catch (error) {
      const failure = translateEngineError(error)
      if (failure.kind !== 'ConcurrentModification' || attempt === attempts) throw failure
    }
  }
}
