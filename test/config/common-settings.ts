/** Settings that most installations set, which CONFIGURATION.md lists before all others. */
export const commonSettings: ReadonlySet<string> = new Set(
  `
  listen.host listen.port listen.basePath listen.tls listen.tls.certFile listen.tls.keyFile
  listen.tls.clientAuth listen.tls.clientCaFile listen.trustedProxies
  admin admin.host admin.port admin.allowedHosts admin.console
  upstream upstream.url upstream.headerDialect upstream.caFile upstream.credential upstream.credential.header
  upstream.credential.file upstreams upstreams[].namespaces databases
  identity.apiKeys.store identity.apiKeys.pepperFile identity.issuers identity.issuers[].issuer
  identity.issuers[].audience identity.issuers[].algorithms identity.issuers[].jwks.url
  identity.issuers[].caFile identity.issuers[].subjectClaim identity.issuers[].groupsClaim
  identity.kubernetes.name identity.kubernetes.audience identity.clientCertificates
  identity.clientCertificates.name identity.anonymous
  policies.folder
  audit.folder audit.sealKeyFile audit.mode audit.reads audit.retention audit.retention.maxAgeDays
  audit.retention.maxBytes audit.redaction.recordedContextKeys
  limits.maxJsonBytes limits.maxArrowBytes limits.rates limits.rates[].name limits.rates[].per
  limits.rates[].perSecond limits.rates[].burst
  timeouts.drainTimeoutMs listing.tokenKeyFile outbound.caFile outbound.proxy.url log.level
`
    .trim()
    .split(/\s+/),
)
