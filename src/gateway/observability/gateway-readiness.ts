import type { AuditLog } from '../../audit/index.ts'
import type { Authenticator } from '../../identity/index.ts'
import type { PolicySource } from '../../policy/source/policy-source.ts'
import type { FileFollower } from '../../lib/fs/follow-files.ts'
import type { ReadinessCheck } from '../../observability/health/readiness.ts'
import type { Upstream } from '../upstream/upstream.ts'
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
  const describeUpstreams = (problem: string, matches: (health: Upstream['health']) => boolean) =>
    describeNames(
      problem,
      upstreams.all.filter(({ health }) => matches(health)).map(({ name }) => name),
    )
  return [
    {
      name: 'policies',
      findProblem: () =>
        policies.current().documents.length > 0 ? undefined : 'no policies loaded: every request is denied',
    },
    {
      name: 'policy_folders',
      // A restart would fail.
      isWarning: true,
      findProblem: () =>
        describeNames('the last policies stay in force; not reloaded', policies.listFailingFolders()),
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
        return describeUpstreams('no health check has passed yet', (health) => !health.hasPassed)
      },
    },
    {
      name: 'upstreams',
      // Without its upstream, a gateway still responds with errors that clients understand.
      isWarning: true,
      findProblem: () =>
        describeUpstreams('not checked yet', (health) => !health.isChecked) ??
        describeUpstreams('unhealthy', (health) => !health.isHealthy),
    },
    {
      name: 'upstream_credentials',
      isWarning: true,
      findProblem: () =>
        describeUpstreams('the credential of the gateway is refused', (health) => health.isCredentialRefused),
    },
    {
      name: 'files',
      // A restart would fail.
      isWarning: true,
      findProblem: () => describeNames('the last good values stay in use; not reloaded', files.listFailing()),
    },
  ]
}

/** Undefined without names. */
function describeNames(problem: string, names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : `${problem}: ${names.join(', ')}`
}
