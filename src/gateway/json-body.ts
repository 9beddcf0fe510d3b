import { invalidInput } from '../interface/errors.ts'
import { cutSpans, scanMembers, type Span } from './json-scan.ts'

/** A JSON object as it was sent. */
export interface JsonBody {
  /** The text of the body, character for character. */
  readonly text: string
  readonly members: Readonly<Record<string, unknown>>
  /** Where the members stand in the text, without those of objects within. */
  readonly spans: readonly Span[]
}

/**
 * Reads a JSON body of which every reader must have the same idea: strict UTF-8 without a byte order mark, one
 * object, no key twice in any object, at most 64 levels deep. Empty and `null` are undefined: no members.
 * Throws InvalidInput (400).
 */
export function parseJsonBody(bytes: Buffer): JsonBody | undefined {
  const text = decode(bytes)
  if (text.trim() === '' || text.trim() === 'null') return undefined
  const spans = scanMembers(text, (_name, depth) => depth === 1)
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

/** The bytes of the body without one member; every other character stays as it was sent. */
export function withoutMember({ text, spans }: JsonBody, name: string): Buffer {
  return Buffer.from(
    cutSpans(
      text,
      spans.filter((span) => span.name === name),
    ),
  )
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
