import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { SharedLimitsSettings } from '../../config/index.ts'
import { Backoff, hasErrorCode, readSecret, readTlsFiles, withTimeout } from '../../lib/index.ts'
import type { Outbound } from '../../outbound/index.ts'
import { type BucketSettings, type Charge, TokenBuckets } from '../token-buckets.ts'

/** Receives sync events. Must not throw. */
export interface SyncObserver {
  synced(seconds: number): void
  /** Nothing is shared until the next successful sync. */
  failed(error: unknown): void
}

/** Batching period of charges: other gateways see them at most this much later, plus the network latency. */
const batchMs = 20
/** Of an unused bucket, while there are no charges. */
const probeIntervalMs = 5_000
const probe: readonly Charge[] = [{ key: formatKey('probe'), ms: 1 }]
const pauseBounds = { minMs: 100, maxMs: 5_000 }

/**
 * Syncs in the background with one call in flight; no request waits for it. Rejects if a file cannot be used, but not if the
 * server is unreachable. After `timeoutMs` without a response, a gateway counts alone.
 */
export async function openSharedLimits(
  settings: SharedLimitsSettings,
  outbound: Outbound,
  observer: SyncObserver,
  timeoutMs = 500,
) {
  await readRedisAccess(settings, outbound)
  const shared: { readonly buckets: TokenBuckets; readonly storeKey: (key: string) => string }[] = []
  const closing = new AbortController()
  const { signal } = closing
  let isSynced = false
  let running: Promise<void> | undefined
  return {
    /** Must not be called after `start`. */
    createBuckets: (limit: string, bucketSettings: BucketSettings): TokenBuckets => {
      const { perSecond, burst } = bucketSettings
      const buckets = new TokenBuckets(bucketSettings, () => isSynced)
      // Settings are part of the key, so that gateways with old and new settings can run concurrently.
      shared.push({ buckets, storeKey: (key) => formatKey(limit, perSecond, burst, key) })
      return buckets
    },
    /** Starts sharing. Resolves when it is known whether the server is reachable. Never rejects. */
    start: () =>
      new Promise<void>((onAttempt) => {
        running = run(onAttempt)
      }),
    /** Never rejects. */
    async close(): Promise<void> {
      closing.abort()
      await running
    },
  }

  async function run(onAttempt: () => void): Promise<void> {
    const pauses = new Backoff(pauseBounds)
    while (!signal.aborted) {
      const startedAt = performance.now()
      let store: BucketStore | undefined
      try {
        store = await openBucketStore(settings, outbound, signal)
        for (let probeAt = -Infinity; ; await pause(batchMs, undefined, { signal })) {
          const charges = takeCharges()
          if (charges.length === 0 && !store.isLost() && performance.now() < probeAt) continue
          await sync(store, charges)
          probeAt = performance.now() + probeIntervalMs
          isSynced = true
          onAttempt()
        }
      } catch (error) {
        isSynced = false
        // Charges made while sharing was impossible must not be applied later.
        takeCharges()
        if (!signal.aborted) observer.failed(error)
      }
      store?.close()
      onAttempt()
      // Continue to back off if connections are lost repeatedly.
      if (performance.now() - startedAt > pauseBounds.maxMs) pauses.reset()
      await pause(pauses.next(), undefined, { signal }).catch(() => undefined)
    }
  }

  function takeCharges() {
    return shared.flatMap(({ buckets, storeKey }) =>
      buckets.takeCharges().map(({ key, ms }) => ({ buckets, localKey: key, key: storeKey(key), ms })),
    )
  }

  async function sync(store: BucketStore, charges: ReturnType<typeof takeCharges>): Promise<void> {
    const startedAt = performance.now()
    const charging = store.charge(charges.length > 0 ? charges : probe)
    const fills = await withTimeout(charging, timeoutMs, signal)
    const now = performance.now()
    charges.forEach(({ buckets, localKey }, index) => buckets.setFillTime(localKey, fills[index] ?? 0, now))
    observer.synced((now - startedAt) / 1000)
  }
}

/** Without names of principals and namespaces, which must not be stored on the server. */
function formatKey(...parts: readonly unknown[]): string {
  const digest = hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 22)
  // The hash tag in braces makes a cluster store all keys in one slot.
  return `{catalog-gateway}:${digest}`
}

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

const chargeScriptHash = hash('sha1', chargeScript)

/** Timeout of the connection, and again of the login. */
const connectTimeoutMs = 5_000

/** Loads the client of the server. Rejects with a command to install it if it is missing: few gateways share limits. */
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
type BucketStore = Awaited<ReturnType<typeof openBucketStore>>

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
      return Array.isArray(response) ? response.map(Number) : []
    },
    isLost: () => lost !== undefined,
    close: (): void => client.destroy(),
  }
}
