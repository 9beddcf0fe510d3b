/* Contract between the bench and its upstream: table names select the response. */

const mebibyte = 1024 * 1024

/** Sizes of large bodies by their names, as used in table names. */
export const bodySizes = {
  '1m': mebibyte,
  '64m': 64 * mebibyte,
  '100m': 100 * mebibyte,
  '256m': 256 * mebibyte,
} as const
export type BodySize = keyof typeof bodySizes

export const smallResponse = JSON.stringify({
  versions: [{ version: 7, timestamp: '2026-01-01T00:00:00Z', metadata: { rows: '1000' } }],
})

export const commitResponse = JSON.stringify({ version: { version: 7 } })

export const uploadResponse = JSON.stringify({ version: 7 })

/** For requests on this table, the response is the SHA-256 of the request body. */
export const digestTable = 'digest'

/** Status for a path with dot segments, which a server in front of the upstream must not forward. */
export const dotSegmentsStatus = 508

/** Creates a download body without repeated parts. */
export function downloadOf(bytes: number): Buffer {
  const body = Buffer.alloc(bytes)
  let state = 7
  for (let at = 0; at < bytes; at += 4) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    body.writeInt32LE(state, at)
  }
  return body
}
