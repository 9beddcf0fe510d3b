import { createHash, timingSafeEqual } from 'node:crypto'
import { CatalogError } from 'catalog-gateway/catalog-api'

/** Compares in constant time; throws Unauthenticated (401). Without access tokens, every request passes. */
export function createAccessTokenCheck(
  getTokens: () => readonly string[] | undefined,
): (authorization: string | undefined) => void {
  return (authorization) => {
    const tokens = getTokens()
    if (tokens === undefined) return
    const sent = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
    if (sent !== undefined && tokens.some((token) => timingSafeEqual(digest(sent), digest(token)))) return
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
