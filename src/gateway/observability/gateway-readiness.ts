import type { AuditLog } from '../../audit/log/audit-log.ts'
import type { Authenticator } from '../../identity/authenticate.ts'
import type { SharedLimits } from '../../limits/shared/shared-limits.ts'
import type { PolicySource } from '../../policy/source/policy-source.ts'
import type { ReadinessCheck } from '../../observability/health/readiness.ts'
import type { Upstreams } from '../upstream/upstreams.ts'

interface GatewayReadinessOptions {
  readonly audit: Pick<AuditLog, 'status'>
  readonly policies: Pick<PolicySource, 'current'> & { readonly findProblem: () => string | undefined }
  readonly authenticator: Pick<Authenticator, 'status'>
  readonly upstreams: Pick<Upstreams, 'all'>
  readonly shared: Pick<SharedLimits, 'isReady'> | undefined
  /** Whether the gateway is only ready while an upstream is healthy. */
  readonly requiresUpstream: boolean
}

/**
 * Creates the readiness checks of a gateway. Each returns a description of the problem for operators; none does work of
 * its own.
 */
export function createReadinessChecks(parts: GatewayReadinessOptions): ReadinessCheck[] {
  const { audit, policies, authenticator, upstreams, shared, requiresUpstream } = parts
  // Losing the keys later does not make the gateway unready: other replicas lose them too, and API keys still work.
  let hadKeys = false
  return [
    {
      name: 'policies',
      findProblem: () =>
        policies.current().size > 0 ? undefined : 'no policies loaded: every request is denied',
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
      name: 'audit',
      findProblem: () => (audit.status().writable ? undefined : 'audit log unavailable: changes are refused'),
    },
    {
      name: 'shared_limits',
      // As with keys, losing the server later does not make the gateway unready.
      findProblem: () =>
        shared?.isReady() === false
          ? 'shared limits not connected yet: limited requests are refused'
          : undefined,
    },
    {
      name: 'upstreams',
      // Without its upstream, a gateway still responds with errors that clients understand.
      isWarning: !requiresUpstream,
      findProblem: async () => {
        await Promise.all(upstreams.all.map(({ health }) => health.firstCheck))
        const unhealthy = upstreams.all.filter(({ health }) => !health.isHealthy())
        if (requiresUpstream)
          return unhealthy.length < upstreams.all.length ? undefined : 'no healthy upstream'
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
  ]
}

function listNames(upstreams: readonly { readonly name: string }[]): string {
  return upstreams.map(({ name }) => name).join(', ')
}
