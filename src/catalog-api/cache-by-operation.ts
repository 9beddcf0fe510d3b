import type { Operation } from './operations.ts'

/** Computes a value once for each operation. */
export function cacheByOperation<Value>(
  create: (operation: Operation) => Value,
): (operation: Operation) => Value {
  const known = new Map<Operation, Value>()
  return (operation) => {
    let value = known.get(operation)
    if (value === undefined) known.set(operation, (value = create(operation)))
    return value
  }
}
