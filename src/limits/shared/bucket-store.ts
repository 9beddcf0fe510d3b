import { createClient } from '@redis/client'
import { connectTimeoutMs, readRedisAccess } from './redis-access.ts'
import { chargeScript, chargeScriptHash } from './charge-script.ts'
import type { Charge } from './shared-buckets.ts'
import type { SharedLimitsSettings } from '../../config/shared-limits-settings.ts'
import { withTimeout } from '../../lib/async/with-timeout.ts'

/** A connection to the server; one that failed once is of no use any more. */
export interface BucketStore {
  /** Charges those keys, and resolves with how many milliseconds each needs to be full. */
  charge(charges: readonly Charge[]): Promise<readonly number[]>
  close(): void
}

/**
 * Connects with what the files hold now. Whether and when to connect again is up to the caller, who is told when the
 * connection is lost. Rejects where the server cannot be reached in time, or does not let the gateway in.
 *
 * The client is that of Redis itself: the one that is developed on, without dependencies.
 */
export async function openBucketStore(
  settings: SharedLimitsSettings,
  onLost: () => void,
  signal: AbortSignal,
): Promise<BucketStore> {
  const client = createClient({
    ...(await readRedisAccess(settings)),
    RESP: 2,
    database: Number(new URL(settings.url).pathname.slice(1)),
    disableClientInfo: true,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
  })
  let lost: unknown
  client.on('error', (error) => {
    lost = error
    onLost()
  })
  const connecting = client.connect()
  try {
    await withTimeout(connecting, 2 * connectTimeoutMs, signal)
  } catch (error) {
    client.destroy()
    // One that comes about all the same is not kept.
    connecting.then(
      () => client.destroy(),
      () => undefined,
    )
    throw error
  }
  return {
    async charge(charges) {
      const keys = charges.map(({ key }) => key)
      const parameters = { keys, arguments: charges.map(({ ms }) => String(ms)) }
      const response = await client.evalSha(chargeScriptHash, parameters).catch((error: unknown) => {
        // The server does not have it yet, or was restarted.
        if (String(error).includes('NOSCRIPT')) return client.eval(chargeScript, parameters)
        throw lost ?? error
      })
      return parseFills(response, charges.length)
    },
    close: () => client.destroy(),
  }
}

function parseFills(answer: unknown, count: number): readonly number[] {
  const fills = Array.isArray(answer) ? answer.map(Number) : []
  if (fills.length === count && fills.every(Number.isFinite)) return fills
  throw new Error('unexpected response of the server')
}
