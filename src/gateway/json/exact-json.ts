import { randomBytes } from 'node:crypto'

/** A JSON number that JavaScript cannot represent, such as 2^53 + 1 or 1e400, as the text that was sent. */
class ExactNumber {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toJSON(): string {
    return this.#text
  }
}

/** Matches every text that contains a number with many digits or an exponent. */
const possiblyInexact = /[\d.]{16}|\d[eE]/
/** Escapes and quotes distinguish numbers from digits in strings. */
const tokens = /\\.|"|-?\d[\d.eE+-]*/g
const maxExactDigits = 15

/** Random, so that callers cannot produce it: marks numbers that are read as text. */
const marker = `${randomBytes(16).toString('base64url')}:`

/** Parses JSON as JSON.parse does, but does not round numbers: see `ExactNumber`. */
export function parseExactJson(text: string): unknown {
  if (!possiblyInexact.test(text)) return JSON.parse(text)
  let isInString = false
  const marked = text.replaceAll(tokens, (token) => {
    if (token === '"') isInString = !isInString
    const isNumber = !isInString && token !== '"'
    return isNumber && !isExact(token) ? `"${marker}${token}"` : token
  })
  return JSON.parse(marked, (_name, value: unknown) =>
    typeof value === 'string' && value.startsWith(marker)
      ? new ExactNumber(value.slice(marker.length))
      : value,
  )
}

/** Whether JavaScript represents the number exactly. */
function isExact(sent: string): boolean {
  const value = Number(sent)
  if (Number.isSafeInteger(value) && String(value) === sent) return true
  const digits = sent
    .replace(/[eE].*/, '')
    .replaceAll(/\D/g, '')
    .replace(/^0+/, '')
  if (digits === '') return true
  return digits.length <= maxExactDigits && Number.isFinite(value) && value !== 0
}
