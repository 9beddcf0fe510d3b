import { readSecret } from '../../lib/fs/read-secret.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import { readTlsFiles } from '../../lib/tls/tls-files.ts'
import type { SharedLimitsSettings } from '../../config/shared-limits-settings.ts'

/** Timeout of the connection, and again of the login. */
export const connectTimeoutMs = 5_000

/** Reads the files of the settings. Rejects if one cannot be read or used. */
export async function readRedisAccess(
  { url, username, passwordFile, tls }: SharedLimitsSettings,
  outbound: Outbound,
) {
  const { hostname, port, protocol } = new URL(url)
  const socket = {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? 6379 : Number(port),
    connectTimeout: connectTimeoutMs,
    reconnectStrategy: false as const,
  }
  const material = tls && (await readTlsFiles(tls, 'of the shared limits'))
  return {
    socket:
      protocol === 'rediss:'
        ? { ...socket, tls: true as const, ...outbound.getTlsOptions(material ?? {}) }
        : socket,
    ...(username !== undefined && { username }),
    ...(passwordFile !== undefined && { password: await readSecret(passwordFile) }),
  }
}
