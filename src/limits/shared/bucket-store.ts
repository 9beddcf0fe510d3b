import { createHash } from 'node:crypto'
import type { SharedLimitsSettings } from '../../config/index.ts'
import { hasErrorCode, readSecret, readTlsFiles, withTimeout } from '../../lib/index.ts'
import type { Outbound } from '../../outbound/index.ts'
import type { Charge } from '../token-buckets.ts'

/**
 * A key stores the milliseconds until its bucket is full, with their time, and expires when it is full. Returns the new
 * milliseconds. Uses the clock of the server; if it goes back, as after a failover, nothing is refilled meanwhile.
 */
const chargeScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local longest = 366 * 24 * 3600 * 1000
local fills = {}
for index, key in ipairs(KEYS) do
  local charge = tonumber(ARGV[index])
  local stored = redis.call('GET', key)
  local fill, at = string.match(stored or '', '^(%S+) (%d+)$')
  fill = math.max(0, (tonumber(fill) or 0) - math.max(0, now - (at or now)))
  if charge ~= 0 then
    fill = math.max(0, fill + charge)
    if fill > 0 then
      local lifetime = math.min(longest, math.ceil(fill))
      redis.call('SET', key, string.format('%.17g %d', fill, now), 'PX', string.format('%d', lifetime))
    elseif stored then
      redis.call('DEL', key)
    end
  end
  fills[index] = string.format('%.17g', fill)
end
return fills
`

const chargeScriptHash = createHash('sha1').update(chargeScript).digest('hex')

/** Timeout of the connection, and again of the login. */
const connectTimeoutMs = 5_000

/** Loads the client of the server. Rejects with what to do if it is not installed: few gateways share limits. */
async function importRedisClient() {
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

/** A connection to the server; unusable after the first failure. */
export type BucketStore = Awaited<ReturnType<typeof openBucketStore>>

/**
 * Reads the files of the settings. Does not reconnect. Rejects if the server cannot be reached in time or refuses the login.
 */
export async function openBucketStore(
  settings: SharedLimitsSettings,
  outbound: Outbound,
  signal: AbortSignal,
) {
  const { createClient } = await importRedisClient()
  const client = createClient({
    ...(await readRedisAccess(settings, outbound)),
    RESP: 2,
    database: Number(new URL(settings.url).pathname.slice(1)),
    disableClientInfo: true,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
  })
  let lost: unknown
  client.on('error', (error) => (lost = error))
  const connecting = client.connect()
  try {
    await withTimeout(connecting, 2 * connectTimeoutMs, signal)
  } catch (error) {
    client.destroy()
    // Close a connection that is established after the timeout.
    connecting.then(
      () => client.destroy(),
      () => undefined,
    )
    throw error
  }
  return {
    /** Resolves with the milliseconds until each bucket is full. */
    async charge(charges: readonly Charge[]): Promise<readonly number[]> {
      const keys = charges.map(({ key }) => key)
      const parameters = { keys, arguments: charges.map(({ ms }) => String(ms)) }
      const response = await client.evalSha(chargeScriptHash, parameters).catch((error: unknown) => {
        // The server does not have the script yet, or was restarted.
        if (String(error).includes('NOSCRIPT')) return client.eval(chargeScript, parameters)
        throw lost ?? error
      })
      return parseFillTimes(response, charges.length)
    },
    isLost: () => lost !== undefined,
    close: (): void => client.destroy(),
  }
}

function parseFillTimes(response: unknown, count: number): readonly number[] {
  const fillTimes = Array.isArray(response) ? response.map(Number) : []
  if (fillTimes.length === count && fillTimes.every(Number.isFinite)) return fillTimes
  throw new Error('unexpected response of the server')
}
