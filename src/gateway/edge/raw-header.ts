import type { IncomingMessage } from 'node:http'

/**
 * The value of the first header of that name (lower case), as it was sent. Node makes an object of all headers when
 * the first of them is asked for; that costs more than to look for one.
 */
export function rawHeader({ rawHeaders }: IncomingMessage, name: string): string | undefined {
  return rawHeaders[nameAt(rawHeaders, name, 0) + 1]
}

/** The same of a header that was sent once; undefined where it was repeated, as nobody can tell which one is meant. */
export function soleRawHeader({ rawHeaders }: IncomingMessage, name: string): string | undefined {
  const at = nameAt(rawHeaders, name, 0)
  return nameAt(rawHeaders, name, at + 2) < rawHeaders.length ? undefined : rawHeaders[at + 1]
}

/** Where that name stands next, from there on; behind all of them where it does not. */
function nameAt(rawHeaders: readonly string[], name: string, from: number): number {
  for (let index = from; index < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index] ?? ''
    if (sent.length === name.length && sent.toLowerCase() === name) return index
  }
  return rawHeaders.length
}
