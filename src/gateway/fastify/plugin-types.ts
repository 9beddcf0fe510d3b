import type { FastifyRequest } from 'fastify'
import type { EmbeddedSettings } from '../../config/index.ts'
import type { ApplicationPrincipal } from '../../identity/index.ts'
import type { RuleReference } from '../../policy/engine/decision.ts'

export interface CatalogGatewayOptions {
  /** Those of the settings file, without the parts of the application itself: ports, TLS. */
  readonly settings: EmbeddedSettings
  /** Path of the gateway in the application; the root by default. */
  readonly prefix?: string
  /**
   * Authenticates in place of `settings.identity`: returns the principal of a request, or undefined, which is 401. If it
   * throws, the response is 503.
   */
  readonly authenticate?: (
    request: FastifyRequest,
  ) => ApplicationPrincipal | undefined | Promise<ApplicationPrincipal | undefined>
  /** Folder of relative paths in the settings; the working directory by default. */
  readonly folder?: string
}

/** The decision of the policies about a request. */
export interface CatalogDecision {
  readonly isAllowed: boolean
  /** Absent if no rule decided. */
  readonly rule?: RuleReference | undefined
  readonly policyRevision: string
}

/** The gateway of an application. */
export interface EmbeddedGateway {
  /** Metrics in the text format of Prometheus, for `accept` of a scraper. */
  metrics(accept?: string): Promise<{ readonly contentType: string; readonly text: string }>
  /** Why it should get no requests, by the name of a check; empty if it is ready. */
  findProblems(): Promise<Readonly<Record<string, string>>>
  /** Reads all watched files again: policies, keys, certificates. */
  reload(): Promise<void>
}
