import type { IncomingHttpHeaders } from 'node:http'
import {
  apiKeyHeader,
  headerDialects,
  invalidInput,
  quoteForMessage,
  requestSchema,
} from 'catalog-gateway/catalog-api'
import type { CatalogCaller, RequestMembers } from '../contract/catalog.ts'

const envelopeSchema = requestSchema({})
const contextPrefix = headerDialects.catalog.context

type CallerIdentity = Pick<CatalogCaller, 'identity' | 'context'>

/**
 * Reads the caller from the headers and from `identity` and `context` of the body; headers take precedence. Context
 * keys are case-insensitive, as header names are. `hasAccessToken`: the authorization header authenticates to this server,
 * so neither it nor a token in the body is an identity for others. Throws InvalidInput (400).
 */
export function readCaller(
  headers: IncomingHttpHeaders,
  members: RequestMembers,
  hasAccessToken: boolean,
): CallerIdentity {
  const { identity, context } = readEnvelope(members)
  const entries = new Map(Object.entries(context ?? {}).map(([key, value]) => [key.toLowerCase(), value]))
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(contextPrefix)) entries.set(name.slice(contextPrefix.length), String(value))
  }
  const key = headers[apiKeyHeader]
  return {
    identity: {
      apiKey: key === undefined ? identity?.api_key : String(key),
      authToken: hasAccessToken
        ? undefined
        : (parseBearerToken(headers.authorization) ?? identity?.auth_token),
    },
    context: entries,
  }
}

/** Returns the token of an authorization header with the Bearer scheme (case-insensitive). */
export function parseBearerToken(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
}

function readEnvelope({ identity, context }: RequestMembers) {
  const parsed = envelopeSchema.safeParse({ identity, context })
  if (parsed.success) return parsed.data
  const path = parsed.error.issues[0]?.path.map(String).join('.') ?? ''
  throw invalidInput(`invalid member ${quoteForMessage(path)} of the body: expected a string`)
}
