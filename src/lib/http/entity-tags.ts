import { createHash } from 'node:crypto'

/** Returns a strong entity tag of a representation (RFC 9110, section 8.8.3). */
export function createEntityTag(representation: Buffer | string): string {
  return `"${createHash('sha256').update(representation).digest('base64url').slice(0, 22)}"`
}

/** Whether a value of If-None-Match lists the tag, or any: then the response is 304 (RFC 9110, section 13.1.2). */
export function listsEntityTag(ifNoneMatch: string, tag: string): boolean {
  return (
    ifNoneMatch.trim() === '*' ||
    ifNoneMatch.split(',').some((listed) => listed.trim().replace(/^W\//, '') === tag)
  )
}
