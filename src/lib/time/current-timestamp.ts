let cachedMs = Number.NaN
let cachedText = ''

/**
 * Current time in ISO 8601 with milliseconds, UTC. Cached within a millisecond, since formatting is slow and records
 * are frequent.
 */
export function currentTimestamp(): string {
  const now = Date.now()
  if (now !== cachedMs) {
    cachedMs = now
    cachedText = new Date(now).toISOString()
  }
  return cachedText
}
