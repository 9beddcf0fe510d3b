/* Contract between the bench and its upstream: table names select the response. */

const mebibyte = 1024 * 1024

/** Name of the size of a large body, as used in table names. */
export type BodySize = '1m' | '64m'

export const bodySizes: Readonly<Record<BodySize, number>> = { '1m': mebibyte, '64m': 64 * mebibyte }

export const smallResponse = JSON.stringify({
  versions: [{ version: 7, timestamp: '2026-01-01T00:00:00Z', metadata: { rows: '1000' } }],
})

export const commitResponse = JSON.stringify({ version: { version: 7 } })

/** With this header, the response is the SHA-256 of the request body. */
export const digestHeader = 'x-bench-digest'

/** Path that returns the number of received body bytes. */
export const bytesCountPath = '/bench/bytes'

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
