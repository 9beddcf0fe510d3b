import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { BackendSettings } from '../../config/backend/backend-settings.ts'
import { accessTokenSchema } from '../../config/backend/backend-settings.ts'
import { hasErrorCode } from '../../lib/fs/system-error.ts'
import { fileStamp, watchSource } from '../../lib/fs/watch-file.ts'

/** The access tokens that the catalog accepts. */
export interface AccessTokens {
  /** Tokens at present; undefined if requests are not authenticated. */
  current(): readonly string[] | undefined
  close(): void
}

const pollIntervalMs = 500

/**
 * Opens the tokens of the settings, and follows their files. Rejects if the files have no token or an invalid one;
 * retains the last valid tokens if that happens later.
 */
export async function openAccessTokens(
  { accessToken, accessTokenFiles }: Pick<BackendSettings, 'accessToken' | 'accessTokenFiles'>,
  log: Logger,
): Promise<AccessTokens> {
  if (accessTokenFiles === undefined) {
    const tokens = accessToken === undefined ? undefined : [accessToken]
    return { current: () => tokens, close: () => undefined }
  }
  let tokens: readonly string[] | undefined
  const watcher = await watchSource(
    {
      stamp: async () => (await Promise.all(accessTokenFiles.map(fileStamp))).join('\n'),
      read: () => readTokens(accessTokenFiles),
    },
    (read) => {
      if (tokens !== undefined) log.info({ tokens: read.length }, 'access tokens reloaded')
      tokens = read
    },
    {
      intervalMs: pollIntervalMs,
      onError: (error) => log.error({ error: String(error) }, 'access tokens not reloaded'),
    },
  )
  return { current: () => tokens, close: () => watcher.close() }
}

/** Ignores missing files: the second token exists only during a rotation. */
async function readTokens(files: readonly string[]): Promise<readonly string[]> {
  const texts = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(file, 'utf8').catch((error: unknown) => {
        if (hasErrorCode(error, 'ENOENT')) return undefined
        throw error
      })
      if (text === undefined) return []
      const token = accessTokenSchema.safeParse(text.trim())
      if (!token.success)
        throw new Error(`${file}: expected one token of 16 characters or more without spaces`)
      return [token.data]
    }),
  )
  const tokens = texts.flat()
  if (tokens.length === 0) throw new Error(`expected an access token in ${files.join(' or ')}`)
  return tokens
}
