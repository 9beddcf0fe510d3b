/*
 * The grammar of a number (RFC 8259 section 6) as a table: which part of a number a byte belongs to, behind which
 * part. A table, since most bytes of a body with vectors are digits.
 */

const parts = ['none', 'minus', 'zero', 'integer', 'point', 'fraction', 'e', 'sign', 'exponent'] as const

type Part = (typeof parts)[number]

/** The parts that may follow each part. A number may end only after those of `whole`. */
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

/** The part of a byte outside of a number. */
export const noNumber = 0

const transitions = new Uint8Array(parts.length * 256)
for (const [index, part] of parts.entries()) {
  for (const [characters, next] of Object.entries(nextParts[part])) {
    for (const byte of Buffer.from(characters)) transitions[index * 256 + byte] = parts.indexOf(next)
  }
}

/** Returns the part that a byte belongs to, given the part before it; `noNumber` if it belongs to none. */
export function continueNumber(part: number, byte: number): number {
  return transitions[part * 256 + byte] ?? noNumber
}

/** Whether a number may end after that part. */
export function canEndNumber(part: number): boolean {
  return finalParts.has(part)
}
