let writtenMs = Number.NaN
let written = ''

/** The time, ISO 8601 with milliseconds, UTC. Records come many in a millisecond, and to write it takes long. */
export function timestamp(): string {
  const now = Date.now()
  if (now !== writtenMs) {
    writtenMs = now
    written = new Date(now).toISOString()
  }
  return written
}
