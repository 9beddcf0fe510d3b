import type { IncomingMessage } from 'node:http'

/**
 * The value of the first header of that name (lower case), as it was sent. Node makes an object of all headers when
 * the first of them is asked for; that costs more than to look for one.
 */
export function rawHeader({ rawHeaders }: IncomingMessage, name: string): string | undefined {
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index] ?? ''
    if (sent.length === name.length && sent.toLowerCase() === name) return rawHeaders[index + 1]
  }
  return undefined
}

/** The same of a header that was sent once; undefined where it was repeated, as nobody can tell which one is meant. */
export function soleRawHeader({ rawHeaders }: IncomingMessage, name: string): string | undefined {
  let found: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index] ?? ''
    if (sent.length !== name.length || sent.toLowerCase() !== name) continue
    if (found !== undefined) return undefined
    found = rawHeaders[index + 1] ?? ''
  }
  return found
}
