let cachedMs = Number.NaN
let cachedText = ''

/** The time, ISO 8601 with milliseconds, UTC. Records come many in a millisecond, and to write it takes long. */
export function currentTimestamp(): string {
  const now = Date.now()
  if (now !== cachedMs) {
    cachedMs = now
    cachedText = new Date(now).toISOString()
  }
  return cachedText
}
