import { vi } from 'vitest'

/** Repeats the attempt for up to 20 seconds until it neither throws nor returns false; resolves with its result. */
export function eventually<Value>(attempt: () => Value | Promise<Value>): Promise<Value> {
  return vi.waitFor(
    async () => {
      const value = await attempt()
      if (value === false) throw new Error('the condition is still false')
      return value
    },
    { timeout: 20_000, interval: 20 },
  )
}
