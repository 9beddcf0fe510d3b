import { createHash, timingSafeEqual } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { CatalogError } from 'catalog-gateway/catalog-api'
import { fixed, type Followed, type FollowSetting, ignoreMissing } from 'catalog-gateway/lib'
import { type BackendSettings, accessTokenSchema } from '../settings/backend-settings.ts'

/** The access tokens that the catalog accepts; undefined if requests are not authenticated. */
type AccessTokens = readonly string[] | undefined

/** Reads the tokens of the settings with `follow`. Rejects if the files have no token or an invalid one. */
export async function openAccessTokens(
  { accessToken, accessTokenFiles: files }: Pick<BackendSettings, 'accessToken' | 'accessTokenFiles'>,
  follow: FollowSetting,
): Promise<Followed<AccessTokens>> {
  if (files === undefined) return fixed(accessToken === undefined ? undefined : [accessToken])
  return follow({ setting: 'accessTokenFiles', files, read: () => readTokens(files) })
}

/** Ignores missing files: the second token exists only during a rotation. */
async function readTokens(files: readonly string[]): Promise<readonly string[]> {
  const tokens: string[] = []
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(ignoreMissing)
    if (text === undefined) continue
    const token = accessTokenSchema.safeParse(text.trim())
    if (!token.success) throw new Error(`${file}: expected one token of 16 characters or more without spaces`)
    tokens.push(token.data)
  }
  if (tokens.length === 0) throw new Error(`expected an access token in ${files.join(' or ')}`)
  return tokens
}

/** Compares in constant time; throws Unauthenticated (401). Without access tokens, every request passes. */
export function checkAccess(tokens: AccessTokens, authorization = ''): void {
  if (tokens === undefined) return
  const sent = /^bearer +(\S+)$/i.exec(authorization)?.[1]
  if (sent !== undefined && tokens.some((token) => timingSafeEqual(digest(sent), digest(token)))) return
  const message = sent === undefined ? 'no bearer token was sent' : 'invalid bearer token'
  throw new CatalogError('Unauthenticated', message, { headers: { 'www-authenticate': 'Bearer' } })
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
