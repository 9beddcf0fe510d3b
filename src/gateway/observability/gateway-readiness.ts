import type { AuditLog } from '../../audit/log/audit-log.ts'
import type { Authenticator } from '../../identity/authenticate.ts'
import type { PolicySource } from '../../policy/source/policy-source.ts'
import type { FileFollower } from '../../lib/fs/file-follower.ts'
import type { ReadinessCheck } from '../../observability/health/readiness.ts'
import type { Upstreams } from '../upstream/upstreams.ts'

interface GatewayReadinessOptions {
  readonly audit: Pick<AuditLog, 'status'>
  readonly policies: Pick<PolicySource, 'current' | 'listFailingFolders'> & {
    readonly findProblem: () => string | undefined
  }
  readonly authenticator: Pick<Authenticator, 'status'>
  readonly upstreams: Pick<Upstreams, 'all'>
  readonly files: Pick<FileFollower, 'listFailing'>
}

/**
 * How long a gateway that has just started waits for its upstreams before it gets requests: the network of a new pod,
 * its sidecars or a catalog that starts at the same time may take a while. It ends, because a gateway without an
 * upstream still responds with errors that clients understand.
 */
const startupMs = 20_000

/**
 * Creates the readiness checks of a gateway. Each returns a description of the problem for operators; none does work of
 * its own.
 */
export function createReadinessChecks(parts: GatewayReadinessOptions): ReadinessCheck[] {
  const { audit, policies, authenticator, upstreams, files } = parts
  // Losing the keys later does not make the gateway unready: other replicas lose them too, and API keys still work.
  let hadKeys = false
  const startedAt = performance.now()
  return [
    {
      name: 'policies',
      findProblem: () =>
        policies.current().size > 0 ? undefined : 'no policies loaded: every request is denied',
    },
    {
      name: 'policy_folders',
      // A restart would fail.
      isWarning: true,
      findProblem: () => {
        const failing = policies.listFailingFolders()
        return failing.length === 0
          ? undefined
          : `the last policies stay in force; not reloaded: ${failing.join(', ')}`
      },
    },
    {
      name: 'policy_resources',
      // The other gateways lose the API server too, and the last policies stay in force.
      isWarning: true,
      findProblem: policies.findProblem,
    },
    {
      name: 'jwks',
      findProblem: () => {
        const { issuers } = authenticator.status()
        hadKeys ||= issuers.length === 0 || issuers.some(({ isUsable }) => isUsable)
        return hadKeys ? undefined : 'no JWKS loaded yet: tokens cannot be verified'
      },
    },
    {
      name: 'api_keys',
      // Other replicas read the same store.
      isWarning: true,
      findProblem: () =>
        authenticator.status().apiKeys.isOutdated
          ? 'the API key store has errors: the last valid keys, or only the valid entries, are in use'
          : undefined,
    },
    {
      name: 'audit',
      findProblem: () => (audit.status().writable ? undefined : 'audit log unavailable: changes are refused'),
    },
    {
      name: 'startup',
      // As with keys, losing an upstream later does not make the gateway unready.
      findProblem: () => {
        if (performance.now() - startedAt >= startupMs) return undefined
        const unreached = upstreams.all.filter(({ health }) => !health.hasPassed())
        return unreached.length === 0 ? undefined : `no health check has passed yet: ${listNames(unreached)}`
      },
    },
    {
      name: 'upstreams',
      // Without its upstream, a gateway still responds with errors that clients understand.
      isWarning: true,
      findProblem: () => {
        const unchecked = upstreams.all.filter(({ health }) => !health.isChecked())
        if (unchecked.length > 0) return `not checked yet: ${listNames(unchecked)}`
        const unhealthy = upstreams.all.filter(({ health }) => !health.isHealthy())
        return unhealthy.length === 0 ? undefined : `unhealthy: ${listNames(unhealthy)}`
      },
    },
    {
      name: 'upstream_credentials',
      isWarning: true,
      findProblem: () => {
        const refusing = upstreams.all.filter(({ health }) => health.isCredentialRefused())
        return refusing.length === 0
          ? undefined
          : `the credential of the gateway is refused: ${listNames(refusing)}`
      },
    },
    {
      name: 'files',
      // A restart would fail.
      isWarning: true,
      findProblem: () => {
        const failing = files.listFailing()
        return failing.length === 0
          ? undefined
          : `the last good values stay in use; not reloaded: ${failing.join(', ')}`
      },
    },
  ]
}

function listNames(upstreams: readonly { readonly name: string }[]): string {
  return upstreams.map(({ name }) => name).join(', ')
}
