import { readSecret } from '../../lib/fs/read-secret.ts'
import { hasErrorCode } from '../../lib/fs/system-error.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import { readTlsFiles } from '../../lib/tls/certificates.ts'
import type { SharedLimitsSettings } from '../../config/index.ts'

/** Timeout of the connection, and again of the login. */
export const connectTimeoutMs = 5_000

/** Loads the client of the server. Rejects with what to do if it is not installed: few gateways share limits. */
export async function importRedisClient() {
  return await import('@redis/client').catch((cause: unknown) => {
    if (!hasErrorCode(cause, 'ERR_MODULE_NOT_FOUND')) throw cause
    throw new Error('limits.shared needs a package of its own; run: npm install @redis/client@6', { cause })
  })
}

/** Reads the files of the settings. Rejects if one cannot be read or used, and if the client is not installed. */
export async function readRedisAccess(
  { url, username, passwordFile, tls }: SharedLimitsSettings,
  outbound: Outbound,
) {
  await importRedisClient()
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
