/**
 * The settings of the gateway: read from a file and the environment, then complete, with absolute paths and defaults.
 */
export {
  type AuditSettings,
  type OtlpSettings,
  redactionSchema,
  type RedactionSettings,
  type SinkSettings,
} from './audit-settings.ts'
export type { CallerLimitSettings, SharedLimitsSettings } from './caller-limit-settings.ts'
export {
  type EmbeddedSettings,
  formatEffectiveSettings,
  type GatewaySettings,
  parseGatewaySettings,
  readEmbeddedSettings,
  readGatewaySettings,
} from './gateway-settings.ts'
export {
  apiKeyNameSchema,
  type AssertionSettings,
  type BootstrapKeySettings,
  type ClientCertificateSettings,
  keyPrincipalSchema,
  type KubernetesSettings,
  listIssuerNames,
} from './identity-settings.ts'
export type { ListenSettings, TlsSettings } from './listen-settings.ts'
export { listServers } from './listener-problems.ts'
export { type PassThroughRouteSettings, webSocketMethod } from './pass-through-settings.ts'
export type { DelegatedNamespace, PolicyNamespace } from './policy-settings.ts'
export type { LogSettings, TracesSettings } from './telemetry-settings.ts'
export {
  type IntrospectionSettings,
  type TokenIssuer,
  type TokenIssuerInput,
  tokenIssuersSchema,
} from './token-issuer-settings.ts'
export { acceptanceHint, findSettingsWarnings } from './settings-problems.ts'
export { allowedRequestHeaders, allowedResponseHeaders } from './upstream/allowed-headers-settings.ts'
export { findCredentialProblem, type UpstreamSettings } from './upstream/upstream-settings.ts'
