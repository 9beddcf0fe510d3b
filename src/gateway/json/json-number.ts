/*
 * The grammar of a number (RFC 8259 section 6) as a table: which part of a number a byte belongs to, behind which
 * part. A table, since most bytes of a body with vectors are digits.
 */

const parts = ['none', 'minus', 'zero', 'integer', 'point', 'fraction', 'e', 'sign', 'exponent'] as const

type Part = (typeof parts)[number]

/** For each part what may follow it; a number may end only behind those of `whole`. */
const nextParts: Readonly<Record<Part, Readonly<Record<string, Part>>>> = {
  none: { '-': 'minus', '0': 'zero', '123456789': 'integer' },
  minus: { '0': 'zero', '123456789': 'integer' },
  zero: { '.': 'point', eE: 'e' },
  integer: { '0123456789': 'integer', '.': 'point', eE: 'e' },
  point: { '0123456789': 'fraction' },
  fraction: { '0123456789': 'fraction', eE: 'e' },
  e: { '+-': 'sign', '0123456789': 'exponent' },
  sign: { '0123456789': 'exponent' },
  exponent: { '0123456789': 'exponent' },
}

const finalParts: ReadonlySet<number> = new Set(
  (['zero', 'integer', 'fraction', 'exponent'] as const).map((part) => parts.indexOf(part)),
)

/** Where no number has begun, and where a byte belongs to no number. */
export const noNumber = 0

const transitions = new Uint8Array(parts.length * 256)
for (const [index, part] of parts.entries()) {
  for (const [characters, next] of Object.entries(nextParts[part])) {
    for (const byte of Buffer.from(characters)) transitions[index * 256 + byte] = parts.indexOf(next)
  }
}

/** The part of a number that the byte belongs to, behind that part; `noNumber` where it belongs to none. */
export function continueNumber(part: number, byte: number): number {
  return transitions[part * 256 + byte] as number
}

/** Whether a number may end with that part. */
export function canEndNumber(part: number): boolean {
  return finalParts.has(part)
}
