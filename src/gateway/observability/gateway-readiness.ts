import type { AuditLog } from '../../audit/index.ts'
import type { Authenticator } from '../../identity/index.ts'
import type { PolicySource } from '../../policy/index.ts'
import type { FileFollower } from '../../lib/index.ts'
import type { ReadinessCheck } from '../../observability/index.ts'
import type { Upstream } from '../upstream/upstream.ts'

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
export function createReadinessChecks(
  audit: AuditLog,
  policies: PolicySource & { readonly findProblem: () => string | undefined },
  authenticator: Authenticator,
  upstreams: readonly Upstream[],
  files: FileFollower,
): ReadinessCheck[] {
  let hadKeys = false
  const startedAt = performance.now()
  const describeUpstreams = (problem: string, matches: (health: Upstream['health']) => boolean) =>
    describeNames(
      problem,
      upstreams.filter(({ health }) => matches(health)).map(({ name }) => name),
    )
  const problems = {
    policies: () =>
      policies.current().documents.length > 0 ? undefined : 'no policies loaded: every request is denied',
    jwks() {
      // Losing the keys later does not make the gateway unready: other replicas lose them too, and API keys still work.
      const { issuers } = authenticator.status()
      hadKeys ||= issuers.length === 0 || issuers.some(({ isUsable }) => isUsable)
      return hadKeys ? undefined : 'no JWKS loaded yet: tokens cannot be verified'
    },
    audit: () => (audit.status().writable ? undefined : 'audit log unavailable: changes are refused'),
    startup() {
      // As with keys, losing an upstream later does not make the gateway unready.
      if (performance.now() - startedAt >= startupMs) return undefined
      return describeUpstreams('no health check has passed yet', (health) => !health.hasPassed)
    },
  }
  // Other replicas have the same upstreams, API server and key store; and without its upstream, a gateway still responds
  // with errors that clients understand. A file that could not be reloaded would make a restart fail.
  const warnings = {
    policy_folders: () =>
      describeNames('the last policies stay in force; not reloaded', policies.listFailingFolders()),
    policy_resources: policies.findProblem,
    api_keys: () =>
      authenticator.status().apiKeys.isOutdated
        ? 'the API key store has errors: the last valid keys, or only the valid entries, are in use'
        : undefined,
    upstreams: () =>
      describeUpstreams('not checked yet', (health) => !health.isChecked) ??
      describeUpstreams('unhealthy', (health) => !health.isHealthy),
    upstream_credentials: () =>
      describeUpstreams('the credential of the gateway is refused', (health) => health.isCredentialRefused),
    files: () => describeNames('the last good values stay in use; not reloaded', files.listFailing()),
  }
  return [
    ...Object.entries(problems).map(([name, findProblem]) => ({ name, findProblem })),
    ...Object.entries(warnings).map(([name, findProblem]) => ({ name, findProblem, isWarning: true })),
  ]
}

/** Undefined without names. */
function describeNames(problem: string, names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : `${problem}: ${names.join(', ')}`
}
