import type { z } from 'zod'
import { anonymousPrincipal, type Principal } from '../../identity/index.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import { parseTimestamp } from '../../lib/time.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
import { permissionFacts } from '../conditions/permission-facts.ts'
import { objectKindOfPermission } from '../engine/object-position.ts'
import type { DecisionTest } from '../testing/decision-test.ts'
import type { PolicySchemas } from './policy-schema.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { createStatedFacts } from './stated-facts.ts'
import { findObjectField, objectFieldFor } from './test-schema.ts'

type WrittenTest = z.output<PolicySchemas['test']>
type GivenFacts = NonNullable<WrittenTest['given']>

/** A request as people write it, in tests and commands. */
interface WrittenRequest extends Pick<AuthorizationRequest, 'principal' | 'permission' | 'id'> {
  /** Facts by their names in conditions. Those that the operation does not have are ignored. */
  readonly given?:
    | (Omit<GivenFacts, 'destination'> & { readonly destination?: Identifier | undefined })
    | undefined
  /** Whether it is also about everything beneath the namespace. */
  readonly beneath?: boolean
}

/** The defaults are constant, because tests that depend on the current date would fail some day. */
export function createWrittenRequest({
  principal,
  permission,
  id,
  given = {},
  beneath = false,
}: WrittenRequest): AuthorizationRequest {
  const {
    address = '192.0.2.1',
    now = '2026-01-01T00:00:00Z',
    context,
    metadata,
    properties,
    ...others
  } = given
  const stated = createStatedFacts({ ...others, metadata: toMap(metadata), properties: toMap(properties) })
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
    operation: permissionFacts(permission, id, stated, beneath),
  }
}

/** Creates a test from fields that the schema has checked. */
export function createTest(
  test: WrittenTest,
  location: Pick<DecisionTest, 'document' | 'file' | 'line'>,
  vocabulary: PolicyVocabulary,
): DecisionTest {
  const { name = '', beneath = false, given, expect, rule, sends, columns } = test
  const field = findObjectField(test)
  const id = test.namespace ?? test.table ?? test.transaction ?? []
  const principal = createCaller(test.as)
  const requests = [...vocabulary.expand(test.operations, 'allow')]
    .filter((permission) => beneath || objectFieldFor(permission) === field)
    .map((permission) => createWrittenRequest({ principal, permission, id, given, beneath }))
  return { name, ...location, requests, beneath, expect, rule, sends, columns }
}

const defaultCaller: Principal = { name: 'somebody', method: 'api-key', groups: new Set(), credentialId: '' }

function createCaller(caller: WrittenTest['as']): Principal {
  if (caller === undefined) return defaultCaller
  const { anonymous, claims, issuer, method, user, groups, key } = caller
  if (anonymous) return anonymousPrincipal
  return {
    name: user ?? defaultCaller.name,
    method: method ?? (claims === undefined && issuer === undefined ? 'api-key' : 'token'),
    groups: new Set(groups),
    credentialId: key ?? '',
    ...(issuer !== undefined && { issuer }),
    ...(claims !== undefined && { claims }),
  }
}

function toMap(texts: Readonly<Record<string, string>> | undefined): ReadonlyMap<string, string> | undefined {
  return texts && new Map(Object.entries(texts))
}
