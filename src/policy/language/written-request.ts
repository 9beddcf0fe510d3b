import {
  canonicalizeBranch,
  canonicalizeWord,
  type Identifier,
  omitUndefinedFacts,
  type Permission,
  permissionNames,
  type StatedFacts,
} from '../../catalog-api/index.ts'
import { anonymousPrincipal, type Principal } from '../../identity/index.ts'
import { parseTimestamp } from '../../lib/index.ts'
import {
  conditionFacts,
  type AuthorizationRequest,
  type ConditionFact,
} from '../conditions/authorization-request.ts'
import { factsStatedFor, listWords, permissionFacts } from '../conditions/permission-facts.ts'
import { objectKindOfPermission } from '../engine/object-position.ts'
import { describePermissionSet } from './policy-vocabulary.ts'

/** Facts as people write them, by their names in conditions. */
type WrittenFacts = {
  readonly [Fact in Exclude<ConditionFact & keyof StatedFacts, MapFact>]?: StatedFacts[Fact] | undefined
} & { readonly [Fact in MapFact | 'context']?: Readonly<Record<string, string>> | undefined } & {
  readonly address?: string | undefined
  /** ISO 8601. */
  readonly now?: string | undefined
  readonly destination?: Identifier | undefined
}
type MapFact = 'metadata' | 'properties'

/** A request as people write it, in tests and commands. */
export interface WrittenRequest extends Pick<AuthorizationRequest, 'principal' | 'permission' | 'id'> {
  /** Those that the operation does not have are ignored. */
  readonly given?: WrittenFacts | undefined
  /** Whether it is also about everything beneath the namespace. */
  readonly beneath?: boolean
}

/** Returns the facts in the form in which the gateway decides on them. */
export function createStatedFacts(given: WrittenFacts): StatedFacts {
  const { mode, behavior, branch, tag, location, manifestPath, destination, metadata, properties } = given
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
  given = {},
  beneath = false,
}: WrittenRequest): AuthorizationRequest {
  const { address = '192.0.2.1', now = '2026-01-01T00:00:00Z', context } = given
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
    operation: permissionFacts(permission, id, createStatedFacts(given), beneath),
  }
}

function toMap(texts: Readonly<Record<string, string>> | undefined): ReadonlyMap<string, string> | undefined {
  return texts && new Map(Object.entries(texts))
}

/** A caller as people write it. */
interface WrittenCaller {
  readonly anonymous?: true | undefined
  readonly user?: string | undefined
  readonly groups?: readonly string[] | undefined
  readonly key?: string | undefined
  readonly method?: Principal['method'] | undefined
  readonly issuer?: string | undefined
  readonly claims?: Principal['claims'] | undefined
}

/** Creates the caller; without any of its fields, one that no policy names. */
export function createCaller(written: WrittenCaller = {}): Principal {
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

/** Finds the facts that no request for any of the permissions states, or not with this mode or behavior, and says why. */
export function findUnstatedFacts(
  given: { readonly [Fact in ConditionFact]?: unknown },
  permissions: ReadonlySet<Permission>,
): readonly (readonly [ConditionFact, problem: string])[] {
  return conditionFacts.flatMap((fact) => {
    const value = given[fact]
    if (value === undefined) return []
    const problem = describeUnstatedFact(fact, typeof value === 'string' ? value : undefined, permissions)
    return problem === undefined ? [] : [[fact, problem] as const]
  })
}

/** Also says which permissions have the fact, or which words are known. */
function describeUnstatedFact(
  fact: ConditionFact,
  text: string | undefined,
  permissions: ReadonlySet<Permission>,
): string | undefined {
  const stated = new Set([...permissions].flatMap((permission) => [...factsStatedFor(permission)]))
  const names = describePermissionSet(permissions)
  if (!stated.has(fact)) {
    const others = new Set(permissionNames.filter((permission) => factsStatedFor(permission).has(fact)))
    const own = stated.size === 0 ? 'no facts' : [...stated].join(', ')
    return `requests for ${names} state ${own}; "${fact}" is stated for ${describePermissionSet(others)}`
  }
  if (text === undefined || (fact !== 'mode' && fact !== 'behavior')) return undefined
  // The gateway refuses other words.
  const known = listWords(fact, permissions)
  if (known.has(canonicalizeWord(text))) return undefined
  return `${JSON.stringify(text)} is not a ${fact} of ${names}; expected one of ${[...known].join(', ')}`
}
