import { createHash, timingSafeEqual } from 'node:crypto'
import { CatalogError } from '../../catalog-api/catalog-error.ts'
import { parseBearerToken } from './request-caller.ts'

/** Compares in constant time; throws Unauthenticated (401). Without an access token, every request passes. */
export function createAccessTokenCheck(
  token: string | undefined,
): (authorization: string | undefined) => void {
  if (token === undefined) return () => {}
  const expected = digest(token)
  return (authorization) => {
    const sent = parseBearerToken(authorization)
    if (sent !== undefined && timingSafeEqual(digest(sent), expected)) return
    throw new CatalogError(
      'Unauthenticated',
      sent === undefined ? 'no bearer token was sent' : 'invalid bearer token',
      { headers: { 'www-authenticate': 'Bearer' } },
    )
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
