import type { AuditLog } from '../audit/log.ts'
import type { GatewaySettings } from '../config.ts'
import type { StaticKey } from '../identity/api-keys.ts'
import { createAuthenticator, type Authenticator } from '../identity/authenticate.ts'
import { readPepper } from '../identity/pepper.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'

/** Reads the keys of callers, and follows them: what becomes of each reload is counted, logged and recorded. */
export async function openIdentity(
  settings: GatewaySettings,
  staticKey: StaticKey | undefined,
  metrics: Metrics,
  log: Logger,
  audit: AuditLog,
): Promise<Authenticator> {
  const { apiKeys, ...rest } = settings.identity
  let isOpen = false
  const authenticator = await createAuthenticator({
    ...rest,
    ...(staticKey && { staticKey }),
    ...(apiKeys && {
      apiKeys: {
        file: apiKeys.store,
        pepper: await readPepper(apiKeys.pepperFile),
        lastUsedFile: apiKeys.lastUsedFile,
      },
    }),
    report: ({ source, outcome, cause }) => {
      // That the keys are read for the first time is no reload.
      if (!isOpen && outcome === 'changed') return
      if (outcome === 'unwritten') {
        log.warn({ source, error: String(cause) }, 'key cache not saved')
        return
      }
      metrics.identityReloads.inc({ source, result: outcome === 'changed' ? 'success' : 'failure' })
      if (outcome === 'failed') {
        audit.reload({ what: 'keys', revision: source, details: { result: 'failure' } })
        log.error({ source, error: String(cause) }, 'key reload failed')
      } else {
        audit.reload({ what: 'keys', revision: source })
        log.info({ source }, 'keys reloaded')
      }
    },
  })
  isOpen = true
  return authenticator
}
