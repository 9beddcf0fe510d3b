import { join } from 'node:path'
import type { AuditLog } from '../../audit/index.ts'
import {
  type Authenticator,
  createAuthenticator,
  readBootstrapKey,
  readPepper,
  type StaticKey,
} from '../../identity/index.ts'
import { exportIdentity } from '../../observability/index.ts'
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
      const isFailure = outcome === 'failed' || outcome === 'refused-keys'
      if (isFailure || outcome === 'changed')
        metrics.identity_reloads_total.inc({ source, result: isFailure ? 'failure' : 'success' })
      switch (outcome) {
        case 'found':
          audit.recordReload({ ...entry, details: { found: 'at start' } }, onRecorded)
          return log.info({ source, changes: changes.length }, 'keys changed while no gateway ran')
        case 'not-compared':
          audit.recordReload({ ...entry, details: { found: 'at start', result: 'failure' } }, onRecorded)
          return log.warn(fields, 'keys not compared with the recorded ones')
        case 'unwritten':
          return log.warn(fields, 'times of last use not saved')
        case 'unusable-keys':
          return log.warn(fields, 'unusable keys in JWKS')
        case 'missing-groups':
          metrics.tokens_without_groups_total.inc({ issuer: source })
          // Callers may have no groups: one line is a hint, the metric shows whether no token has them.
          if (!withoutGroups.has(source)) log.warn(fields, 'groups claim not found in a token')
          withoutGroups.add(source)
          return undefined
        case 'refused-keys':
          return log.error(fields, 'API keys of another pepper refused: the others are in force')
        case 'failed':
          audit.recordReload({ what: 'keys', revision: source, details: { result: 'failure' } })
          return log.error(fields, 'key reload failed')
        case 'changed':
        default:
          audit.recordReload(entry, onRecorded)
          return log.info({ source }, 'keys reloaded')
      }
    },
  })
  isOpen = true
  closers.push(() => authenticator.close())
  exportIdentity(metrics, authenticator)
  return authenticator
}
