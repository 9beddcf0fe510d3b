/*
 * What the bench and its upstream agree on: the tables whose names say what is answered.
 */

const mebibyte = 1024 * 1024

/** The name of the size of a large body, as it stands in that of a table. */
export type BodySize = '1m' | '64m'

/** The sizes of large bodies, in bytes. */
export const bodySizes: Readonly<Record<BodySize, number>> = { '1m': mebibyte, '64m': 64 * mebibyte }

/** What every small request is answered. */
export const smallResponse = JSON.stringify({
  versions: [{ version: 7, timestamp: '2026-01-01T00:00:00Z', metadata: { rows: '1000' } }],
})

/** What every commit is answered. */
export const commitResponse = JSON.stringify({ version: { version: 7 } })

/** A request with this header is answered the SHA-256 of its body instead. */
export const digestHeader = 'x-bench-digest'

/** Answers how many bytes of bodies have come. */
export const bytesCountPath = '/bench/bytes'

/** The body of a download: no two of its pieces are alike. */
export function downloadOf(bytes: number): Buffer {
  const body = Buffer.alloc(bytes)
  let state = 7
  for (let at = 0; at < bytes; at += 4) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    body.writeInt32LE(state, at)
  }
  return body
}
