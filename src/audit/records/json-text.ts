import type { ObjectId } from './audit-record.ts'

// Writes JSON byte for byte like JSON.stringify, but several times faster for typical record texts.

const unescapedText = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

function stringToJson(text: string): string {
  return unescapedText.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** Formats an id as JSON; also used as a map key for objects. */
export function idToJson(id: ObjectId): string {
  let text = ''
  for (const part of id) text += text === '' ? stringToJson(part) : `,${stringToJson(part)}`
  return `[${text}]`
}

/** Formats a member with a leading comma; empty for undefined. Throws `TypeError` if it is not valid JSON. */
export function memberToJson(name: string, value: unknown): string {
  if (value === undefined) return ''
  return `,"${name}":${typeof value === 'string' ? stringToJson(value) : JSON.stringify(value)}`
}
