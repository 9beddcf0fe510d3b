import { fixed, type Followed, type FollowSetting, readSecret } from 'catalog-gateway/lib'
import { type BackendSettings, postgresUrlSchema } from '../settings/backend-settings.ts'

type PostgresSettings = NonNullable<BackendSettings['store']['postgres']>

/**
 * The URL of the settings, or that of its file, in which the user and the password may change. A file with another
 * host, database or parameter keeps the last value: connections of one process must not be to two databases, and a URL
 * that is cut off may lack `sslmode`. Rejects if the first read fails.
 */
export async function followPostgresUrl(
  { url = '', urlFile }: Pick<PostgresSettings, 'url' | 'urlFile'>,
  follow: FollowSetting,
): Promise<Followed<string>> {
  if (urlFile === undefined) return fixed(url)
  let server: string | undefined
  return follow({
    setting: 'store.postgres.urlFile',
    files: [urlFile],
    async read() {
      const read = await readSecret(urlFile)
      const problem = postgresUrlSchema.safeParse(read).error?.issues[0]
      if (problem !== undefined) throw new Error(`${problem.message}: ${urlFile}`)
      server ??= omitUser(read)
      if (omitUser(read) !== server) {
        throw new Error(
          `expected the same URL but for user and password; others require a restart: ${urlFile}`,
        )
      }
      return read
    },
  })
}

function omitUser(url: string): string {
  return url.replace(/^([a-z]+:\/\/)[^/?#]*@/, '$1')
}
