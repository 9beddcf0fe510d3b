import type { IncomingHttpHeaders } from 'node:http'
import { invalidInput } from '../../catalog-api/catalog-error.ts'
import { apiKeyHeader, headerDialects } from '../../catalog-api/headers.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import { requestSchema } from '../../catalog-api/schemas/members.ts'
import type { CatalogCaller, RequestMembers } from '../contract/catalog.ts'

const envelopeSchema = requestSchema({})
const contextPrefix = headerDialects.catalog.context

/** Who asks, without what only the connection knows. */
type CallerIdentity = Pick<CatalogCaller, 'identity' | 'context'>

/**
 * Reads who asks from the headers and from `identity` and `context` of the body, where the headers win. An entry of
 * the context is the same in upper and lower case, for the names of headers are. `isGuarded`: the authorization
 * header lets the caller in here, so that it is no identity for anybody else, and neither is a token in the body.
 * Throws InvalidInput (400).
 */
export function readCaller(
  headers: IncomingHttpHeaders,
  members: RequestMembers,
  isGuarded: boolean,
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
      authToken: isGuarded ? undefined : (parseBearerToken(headers.authorization) ?? identity?.auth_token),
    },
    context: entries,
  }
}

/** The token of an authorization header with the scheme Bearer, in any case. */
export function parseBearerToken(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
}

function readEnvelope({ identity, context }: RequestMembers) {
  const read = envelopeSchema.safeParse({ identity, context })
  if (read.success) return read.data
  const path = read.error.issues[0]?.path.map(String).join('.') ?? ''
  throw invalidInput(`invalid member ${quoteForMessage(path)} of the body: expected a string`)
}
