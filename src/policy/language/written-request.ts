import { z } from 'zod'
import {
  canonicalizeBranch,
  canonicalizeWord,
  headerDialects,
  type Identifier,
  omitUndefinedFacts,
  type Permission,
  type StatedFacts,
} from '../../catalog-api/index.ts'
import { anonymousPrincipal, authenticationMethods, type Principal } from '../../identity/index.ts'
import { parseTimestamp } from '../../lib/index.ts'
import {
  conditionFacts,
  type AuthorizationRequest,
  type ConditionFact,
} from '../conditions/authorization-request.ts'
import { factsStatedFor, permissionFacts } from '../conditions/permission-facts.ts'
import { objectKindOfPermission } from '../engine/object-position.ts'
import { describePermissionSet } from './policy-vocabulary.ts'
import { checked, mapOf, names, optional, text, texts, time, yes, type NameSchemas } from './schema-parts.ts'

export const callerSchema = checked(
  z.strictObject({
    anonymous: optional(yes, 'true: an anonymous caller; no other field is allowed.'),
    user: optional(text, 'The name of the principal.'),
    groups: optional(names, 'Its groups.'),
    key: optional(text, 'The id of its API key.'),
    method: optional(
      z.enum(authenticationMethods),
      'How the caller authenticated: api-key, token or certificate. Default: token if claims or issuer are given, otherwise api-key.',
    ),
    issuer: optional(text, 'The issuer.'),
    claims: optional(mapOf(z.unknown(), 'claims, such as { amr: [mfa] }'), 'The claims of its token.'),
  }),
  (caller, report) => {
    if (caller.anonymous && Object.keys(caller).length > 1)
      report(' must not describe an anonymous caller further')
  },
)

const asInConditions = optional(text, 'As in conditions.')

const contextPrefix = headerDialects.catalog.context
export const contextKeyForm = `in lower case, without "${contextPrefix}"`

/** Returns why no request has a key in its context; undefined if one may. */
export function describeContextKey(key: string): string | undefined {
  const name = key.toLowerCase()
  const meant = name.startsWith(contextPrefix) ? name.slice(contextPrefix.length) : name
  return key === meant ? undefined : `expected "${meant}": keys are ${contextKeyForm}`
}

const contextSchema = checked(texts, (context, report) => {
  for (const key of Object.keys(context)) {
    const problem = describeContextKey(key)
    if (problem !== undefined) report(` has the key "${key}"; ${problem}`, [], { key })
  }
})

export function createFactsSchema({ path }: NameSchemas) {
  return z.strictObject({
    address: optional(text, 'The client address (client.address in conditions). Default: 192.0.2.1.'),
    now: optional(time, 'The time of the request. Default: 2026-01-01T00:00:00Z.'),
    context: optional(contextSchema, 'The context headers, by key.'),
    mode: asInConditions,
    behavior: asInConditions,
    branch: optional(text, 'As in conditions. Default for tables: main.'),
    tag: asInConditions,
    location: asInConditions,
    manifestPath: asInConditions,
    destination: optional(path, 'As in conditions.'),
    metadata: optional(texts, 'As in conditions.'),
    properties: optional(texts, 'As in conditions.'),
  })
}

type WrittenFacts = Omit<z.output<ReturnType<typeof createFactsSchema>>, 'destination'> & {
  readonly destination?: Identifier | undefined
}

/** A request as people write it, in tests and commands. */
export interface WrittenRequest extends Pick<AuthorizationRequest, 'principal' | 'permission' | 'id'> {
  /** Those that the operation does not have are ignored. */
  readonly facts?: WrittenFacts | undefined
  /** Whether it is also about everything beneath the namespace. */
  readonly beneath?: boolean
}

export function createStatedFacts(facts: WrittenFacts): StatedFacts {
  const { mode, behavior, branch, tag, location, manifestPath, destination, metadata, properties } = facts
  return omitUndefinedFacts({
    mode: mode === undefined ? undefined : canonicalizeWord(mode),
    behavior: behavior === undefined ? undefined : canonicalizeWord(behavior),
    branch: branch === undefined ? undefined : canonicalizeBranch(branch),
    tag,
    location,
    manifestPath,
    newNamespace: destination?.slice(0, -1),
    newName: destination?.at(-1),
    metadata: toMap(metadata),
    properties: toMap(properties),
  })
}

/**
 * Returns the request with its facts in the form in which the gateway decides on them. The defaults are constant, because
 * tests that depend on the current date would fail some day.
 */
export function createWrittenRequest({
  principal,
  permission,
  id,
  facts = {},
  beneath = false,
}: WrittenRequest): AuthorizationRequest {
  const { address = '192.0.2.1', now = '2026-01-01T00:00:00Z', context } = facts
  return {
    principal,
    permission,
    kind: beneath ? 'namespace' : objectKindOfPermission(permission),
    id,
    request: {
      clientAddress: address,
      now: new Date(parseTimestamp(now)),
      context: toMap(context) ?? new Map(),
    },
    operation: permissionFacts(permission, id, createStatedFacts(facts), beneath),
  }
}

function toMap(texts: Readonly<Record<string, string>> | undefined): ReadonlyMap<string, string> | undefined {
  return texts && new Map(Object.entries(texts))
}

/** Creates the caller; without any of its fields, one that no policy names. */
export function createCaller(written: z.output<typeof callerSchema> = {}): Principal {
  const { anonymous, claims, issuer, method, user = 'somebody', groups, key = '' } = written
  if (anonymous) return anonymousPrincipal
  return {
    name: user,
    method: method ?? (claims === undefined && issuer === undefined ? 'api-key' : 'token'),
    groups: new Set(groups),
    credentialId: key,
    ...(issuer !== undefined && { issuer }),
    ...(claims !== undefined && { claims }),
  }
}

/** Finds the facts that no request for any of the permissions states, each with the problem. */
export function findUnstatedFacts(
  facts: { readonly [Fact in ConditionFact]?: unknown },
  permissions: ReadonlySet<Permission>,
): readonly (readonly [ConditionFact, problem: string])[] {
  const stated = new Set([...permissions].flatMap((permission) => [...factsStatedFor(permission)]))
  const own = stated.size === 0 ? 'no facts' : [...stated].join(', ')
  const problem = `requests for ${describePermissionSet(permissions)} state ${own}`
  const unstated = conditionFacts.filter((fact) => facts[fact] !== undefined && !stated.has(fact))
  return unstated.map((fact) => [fact, problem])
}
