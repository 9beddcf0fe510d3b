import { invalidInput, type InterfaceError } from '../interface/errors.ts'
import { show } from '../interface/identifiers.ts'

/** A JSON object as it was sent. */
export interface JsonBody {
  /** The text of the body, character for character. */
  readonly text: string
  readonly members: Readonly<Record<string, unknown>>
  /** Where each top-level member begins (at its name) and ends (behind its value) in the text. */
  readonly spans: ReadonlyMap<string, Span>
}

interface Span {
  readonly start: number
  readonly end: number
}

const maximumDepth = 64

/**
 * Reads a JSON body of which every reader must have the same idea: strict UTF-8 without a byte order mark, one
 * object, no key twice in any object, at most 64 levels deep. Empty and `null` are undefined: no members.
 * Throws InvalidInput (400).
 */
export function parseJsonBody(bytes: Buffer): JsonBody | undefined {
  const text = decode(bytes)
  if (text.trim() === '' || text.trim() === 'null') return undefined
  const spans = scan(text)
  let members: unknown
  try {
    members = JSON.parse(text)
  } catch {
    throw invalidInput('the body is not valid JSON')
  }
  if (typeof members !== 'object' || members === null || Array.isArray(members)) {
    throw invalidInput('the body is JSON, but not an object')
  }
  return { text, members: members as Record<string, unknown>, spans }
}

/** The bytes of the body without one top-level member; every other character stays as it was sent. */
export function withoutMember(body: JsonBody, name: string): Buffer {
  const span = body.spans.get(name)
  if (span === undefined) return Buffer.from(body.text)
  const before = body.text.slice(0, span.start)
  const after = body.text.slice(span.end)
  const next = /^\s*,/.exec(after)
  if (next !== null) return Buffer.from(before + after.slice(next[0].length))
  return Buffer.from(before.replace(/,\s*$/, '') + after)
}

function decode(bytes: Buffer): string {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw invalidInput('the body is not valid UTF-8')
  }
  if (text.startsWith('\uFEFF'))
    throw invalidInput('the body begins with a byte order mark; send plain UTF-8')
  return text
}

/** A container that is open during the scan; `keys` is undefined for an array. */
interface Open {
  readonly keys: Set<string> | undefined
  expectsKey: boolean
}

/**
 * Finds repeated keys, the depth and the spans of the top-level members in one pass. It relies on JSON.parse for
 * the grammar: of a text that JSON.parse accepts it sees every key, of any other text its findings are not used.
 */
function scan(text: string): Map<string, Span> {
  const spans = new Map<string, Span>()
  const stack: Open[] = []
  let member: { name: string; start: number } | undefined
  let position = 0
  const endMember = (end: number): void => {
    if (stack.length === 1 && member !== undefined) {
      spans.set(member.name, { start: member.start, end: trimmedEnd(text, end) })
      member = undefined
    }
  }
  while (position < text.length) {
    const top = stack.at(-1)
    switch (text.charCodeAt(position)) {
      case 0x22: {
        const end = stringEnd(text, position)
        if (top?.keys !== undefined && top.expectsKey) {
          const name = keyOf(text.slice(position, end))
          if (top.keys.has(name))
            throw invalidInput(`the key ${show(name)} stands twice in one object of the body`)
          top.keys.add(name)
          top.expectsKey = false
          if (stack.length === 1) member = { name, start: position }
        }
        position = end
        continue
      }
      case 0x7b:
        stack.push({ keys: new Set(), expectsKey: true })
        if (stack.length > maximumDepth) throw tooDeep()
        break
      case 0x5b:
        stack.push({ keys: undefined, expectsKey: false })
        if (stack.length > maximumDepth) throw tooDeep()
        break
      case 0x2c:
        endMember(position)
        if (top !== undefined) top.expectsKey = true
        break
      case 0x7d:
      case 0x5d:
        endMember(position)
        stack.pop()
        break
      default:
    }
    position += 1
  }
  return spans
}

/** The position behind the string that begins at `start`; the end of the text where it is not closed. */
function stringEnd(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1)
  while (quote !== -1 && escaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return quote === -1 ? text.length : quote + 1
}

function escaped(text: string, position: number): boolean {
  let backslashes = 0
  while (text.charCodeAt(position - 1 - backslashes) === 0x5c) backslashes += 1
  return backslashes % 2 === 1
}

/** `"\u0069d"` is the key `id`: keys are compared as they will be read. */
function keyOf(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1)
  try {
    return String(JSON.parse(literal))
  } catch {
    throw invalidInput('the body is not valid JSON')
  }
}

function trimmedEnd(text: string, end: number): number {
  return text.slice(0, end).trimEnd().length
}

function tooDeep(): InterfaceError {
  return invalidInput(`the body is nested more than ${maximumDepth} levels deep`)
}
