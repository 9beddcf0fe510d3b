import type { Operation } from './operations.ts'

/** Computes a value once for each operation, and keeps it for as long as there is the operation. */
export function cacheByOperation<Value>(
  create: (operation: Operation) => Value,
): (operation: Operation) => Value {
  const known = new WeakMap<Operation, { readonly value: Value }>()
  return (operation) => {
    let computed = known.get(operation)
    if (computed === undefined) known.set(operation, (computed = { value: create(operation) }))
    return computed.value
  }
}
