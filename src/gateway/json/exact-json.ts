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
const numberPattern = /-?\d[\d.eE+-]*/y
const maxExactDigits = 15

/** Random, so that callers cannot produce it: marks numbers that are read as text. */
const marker = `${randomBytes(16).toString('base64url')}:`

/** Parses JSON as JSON.parse does, but does not round numbers: see `ExactNumber`. */
export function parseExactJson(text: string): unknown {
  if (!possiblyInexact.test(text)) return JSON.parse(text)
  return JSON.parse(markInexactNumbers(text), (_name, value: unknown) =>
    typeof value === 'string' && value.startsWith(marker)
      ? new ExactNumber(value.slice(marker.length))
      : value,
  )
}

function markInexactNumbers(text: string): string {
  let marked = ''
  let written = 0
  for (let index = 0; index < text.length;) {
    const character = text[index] ?? ''
    if (character === '"') {
      index = findStringEnd(text, index)
    } else if (character === '-' || (character >= '0' && character <= '9')) {
      numberPattern.lastIndex = index
      const [sent = character] = numberPattern.exec(text) ?? []
      if (!isExact(sent)) {
        marked += `${text.slice(written, index)}"${marker}${sent}"`
        written = index + sent.length
      }
      index += sent.length
    } else {
      index += 1
    }
  }
  return marked + text.slice(written)
}

/** Returns the index behind the closing quote of the string. */
function findStringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text[end - 1 - backslashes] === '\\') backslashes += 1
    if (backslashes % 2 === 0) return end + 1
  }
  return text.length
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
