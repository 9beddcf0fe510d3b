/** Whether a value is a JSON object: neither an array nor null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the members of a JSON object; none for any other value. */
export function getMembers(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

/** Whether a JSON value is a list of strings. The empty list is one. */
export function isListOfStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/** Parses JSON in UTF-8; undefined for anything else. */
export function parseJsonBytes(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

const byteOrderMark = Buffer.from('\ufeff')

/** The bytes without the byte order mark that some servers send before JSON; RFC 8259, section 8.1, lets readers ignore it. */
export function withoutByteOrderMark(body: Buffer): Buffer {
  return body.subarray(0, byteOrderMark.length).equals(byteOrderMark)
    ? body.subarray(byteOrderMark.length)
    : body
}
