import { setTimeout as pause } from 'node:timers/promises'

/** A promise that is resolved from outside. */
export interface Deferred<Value> {
  readonly promise: Promise<Value>
  readonly resolve: (value: Value) => void
}

/** Promise.withResolvers, which Node 20 does not have. */
export function createDeferred<Value = undefined>(): Deferred<Value> {
  let resolve: ((value: Value) => void) | undefined
  const promise = new Promise<Value>((fulfill) => (resolve = fulfill))
  return { promise, resolve: (value) => resolve?.(value) }
}

/** Resolves with a growing number once it has not grown for that many milliseconds. */
export async function waitUntilStable(read: () => number, quietMs: number): Promise<number> {
  for (let before = -1; ; await pause(quietMs)) {
    const now = read()
    if (now === before && now > 0) return now
    before = now
  }
}
