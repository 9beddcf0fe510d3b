import { invalidInput } from '../interface/errors.ts'
import { show } from '../interface/identifiers.ts'

/** Where a member stands in a JSON text: from its name to behind its value. */
export interface Span {
  readonly name: string
  readonly start: number
  readonly end: number
}

/** Whether the place of a member is wanted; the members of the outermost object have depth 1. */
type Wanted = (name: string, depth: number) => boolean

/** A container that is open during the scan; `keys` is undefined for an array. */
interface Open {
  readonly keys: Set<string> | undefined
  expectsKey: boolean
  member: { readonly name: string; readonly start: number } | undefined
}

const maximumDepth = 64

/**
 * Finds the places of the wanted members in one pass, in the order of their ends. Throws InvalidInput (400) for a
 * key that stands twice in one object and for more than 64 levels. It leaves the grammar to JSON.parse: of a text
 * that JSON.parse accepts it sees every key; of any other text its findings mean nothing.
 */
export function scanMembers(text: string, wanted: Wanted): Span[] {
  const spans: Span[] = []
  const stack: Open[] = []
  let position = 0
  while (position < text.length) {
    const top = stack.at(-1)
    switch (text.charCodeAt(position)) {
      case 0x22: {
        const end = stringEnd(text, position)
        if (top?.expectsKey === true) beginMember(top, text.slice(position, end), position)
        position = end
        continue
      }
      case 0x7b:
        open(stack, { keys: new Set(), expectsKey: true, member: undefined })
        break
      case 0x5b:
        open(stack, { keys: undefined, expectsKey: false, member: undefined })
        break
      case 0x2c:
        endMember(text, stack, position, wanted, spans)
        if (top?.keys !== undefined) top.expectsKey = true
        break
      case 0x7d:
      case 0x5d:
        endMember(text, stack, position, wanted, spans)
        stack.pop()
        break
      default:
    }
    position += 1
  }
  return spans
}

/** The text without the members in those places; every other character stays as it is. */
export function cutSpans(text: string, spans: readonly Span[]): string {
  let result = text
  let cutFrom = text.length + 1
  for (const { start, end } of spans.toSorted((one, other) => other.end - one.end)) {
    // What stands within a member that is gone is gone with it.
    if (end > cutFrom) continue
    cutFrom = start
    const after = result.slice(end)
    const comma = /^\s*,/.exec(after)
    result =
      comma === null
        ? result.slice(0, start).replace(/,\s*$/, '') + after
        : result.slice(0, start) + after.slice(comma[0].length)
  }
  return result
}

function open(stack: Open[], container: Open): void {
  stack.push(container)
  if (stack.length > maximumDepth) {
    throw invalidInput(`the body is nested more than ${maximumDepth} levels deep`)
  }
}

function beginMember(container: Open, literal: string, start: number): void {
  const name = keyOf(literal)
  if (container.keys?.has(name) === true) {
    throw invalidInput(`the key ${show(name)} stands twice in one object of the body`)
  }
  container.keys?.add(name)
  container.expectsKey = false
  container.member = { name, start }
}

function endMember(
  text: string,
  stack: readonly Open[],
  position: number,
  wanted: Wanted,
  spans: Span[],
): void {
  const top = stack.at(-1)
  if (top?.member === undefined) return
  if (wanted(top.member.name, stack.length)) {
    spans.push({ ...top.member, end: text.slice(0, position).trimEnd().length })
  }
  top.member = undefined
}

/** The position behind the string that begins at `start`; the end of the text where it is not closed. */
function stringEnd(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1)
  while (quote !== -1 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return quote === -1 ? text.length : quote + 1
}

function isEscaped(text: string, position: number): boolean {
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
