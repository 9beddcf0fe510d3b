import { join } from 'node:path'
import type { AuditLog } from '../../audit/index.ts'
import {
  type Authenticator,
  createAuthenticator,
  readBootstrapKey,
  readPepper,
  type StaticKey,
} from '../../identity/index.ts'
import { exportIdentity } from '../../observability/metrics/gauges.ts'
import type { Bootstrap } from './open-observability.ts'

/** Opens the authenticator. Every reload of its keys is counted, logged and recorded in the audit log. */
export async function openIdentity(
  { settings, closers, metrics, log, outbound }: Bootstrap,
  staticKey: StaticKey | undefined,
  audit: AuditLog,
): Promise<Authenticator> {
  const { apiKeys, bootstrapKey, ...rest } = settings.identity
  const key = staticKey ?? (bootstrapKey && (await readBootstrapKey(bootstrapKey)))
  const withoutGroups = new Set<string>()
  let isOpen = false
  const authenticator = await createAuthenticator({
    ...rest,
    outbound,
    ...(key && { staticKey: key }),
    ...(apiKeys && {
      apiKeys: {
        file: apiKeys.store,
        pepper: await readPepper(apiKeys.pepperFile),
        lastUsedFile: join(settings.audit.folder, 'last-used-keys.json'),
        recordedFile: join(settings.audit.folder, 'recorded-keys.json'),
      },
    }),
    report: ({ source, outcome, cause, changes = [], onRecorded }) => {
      // The first read is no reload.
      if (!isOpen && outcome === 'changed') return
      const entry = { what: 'keys', revision: source, keys: changes }
      const fields = { source, error: String(cause) }
      switch (outcome) {
        case 'found':
          audit.recordReload({ ...entry, details: { found: 'at start' } }, onRecorded)
          log.info({ source, changes: changes.length }, 'keys changed while no gateway ran')
          break
        case 'not-compared':
          audit.recordReload({ ...entry, details: { found: 'at start', result: 'failure' } }, onRecorded)
          log.warn(fields, 'keys not compared with the recorded ones')
          break
        case 'unwritten':
          log.warn(fields, 'times of last use not saved')
          break
        case 'unusable-keys':
          log.warn(fields, 'unusable keys in JWKS')
          break
        case 'missing-groups':
          metrics.tokens_without_groups_total.inc({ issuer: source })
          // Callers may have no groups: one line is a hint, the metric shows whether no token has them.
          if (!withoutGroups.has(source)) log.warn({ source }, 'groups claim not found in a token')
          withoutGroups.add(source)
          break
        case 'refused-keys':
          metrics.identity_reloads_total.inc({ source, result: 'failure' })
          log.error(fields, 'invalid API keys refused: the others are in force')
          break
        case 'failed':
          metrics.identity_reloads_total.inc({ source, result: 'failure' })
          audit.recordReload({ what: 'keys', revision: source, details: { result: 'failure' } })
          log.error(fields, 'key reload failed')
          break
        case 'changed':
        default:
          metrics.identity_reloads_total.inc({ source, result: 'success' })
          audit.recordReload(entry, onRecorded)
          log.info({ source }, 'keys reloaded')
      }
    },
  })
  isOpen = true
  closers.push(() => authenticator.close())
  exportIdentity(metrics, authenticator)
  return authenticator
}
