import { onTestFinished } from 'vitest'
import { tokenIssuersSchema } from '../../src/config/token-issuer-settings.ts'
import { runningBackend } from '../../src/backend/test/support/running-backend.ts'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import { startGatewayBefore } from '../gateway/support/running-gateway.ts'
import { signToken, startIssuer } from '../identity/jwt/token-issuer.ts'
import type { TestCertificate } from '../identity/mtls/test-certificates.ts'

/** A gateway in front of a bundled catalog that verifies tokens of an issuer `corp`. */
export interface TokenGateway {
  readonly url: string
  readonly auditFolder: string
  /** The key of `dev`; `dev`, `alice` and `bob` may do everything. */
  readonly key: string
  sign(subject: 'alice' | 'bob'): Promise<string>
}

/** Starts one for the test; with a certificate, it serves TLS. */
export async function startTokenGateway(certificate?: TestCertificate): Promise<TokenGateway> {
  const issuer = await startIssuer()
  onTestFinished(() => issuer.stop())
  const users = ['dev', 'corp:alice', 'corp:bob']
  const rules = allowEverything.rules.map((rule) => ({ ...rule, subjects: { users } }))
  const tls = certificate && {
    certFile: certificate.certFile,
    keyFile: certificate.keyFile,
    clientAuth: 'none' as const,
  }
  const gateway = await startGatewayBefore((await runningBackend()).url(), {
    policies: [{ ...allowEverything, rules }],
    adjust: (settings) => ({
      ...settings,
      dialects: ['lance'],
      listen: { ...settings.listen, ...(tls && { tls }) },
      identity: { ...settings.identity, issuers: tokenIssuersSchema.parse([issuer.configuration]) },
    }),
  })
  return {
    url: gateway.url,
    auditFolder: gateway.auditFolder,
    key: gateway.key('dev'),
    sign: (subject) => signToken(issuer.key, { sub: subject }),
  }
}
