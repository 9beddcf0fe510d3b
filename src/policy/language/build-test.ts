import type { z } from 'zod'
import { anonymousPrincipal, type Principal } from '../../identity/index.ts'
import { parseTimestamp } from '../../lib/time.ts'
import type { AuthorizationRequest, RequestFacts } from '../conditions/authorization-request.ts'
import { permissionFacts } from '../conditions/permission-facts.ts'
import { objectKindOfPermission } from '../engine/object-position.ts'
import type { DecisionTest } from '../testing/decision-test.ts'
import type { PolicySchemas } from './policy-schema.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { createStatedFacts } from './stated-facts.ts'
import { findObjectField, objectFieldFor } from './test-schema.ts'

/** Defaults of the requests of tests. Constant, because tests that depend on the current date would fail some day. */
export const defaultRequestFacts: RequestFacts = {
  clientAddress: '192.0.2.1',
  now: new Date('2026-01-01T00:00:00Z'),
  context: new Map(),
}

type WrittenTest = z.output<PolicySchemas['test']>

/** Creates a test from fields that the schema has checked. */
export function createTest(
  test: WrittenTest,
  location: Pick<DecisionTest, 'document' | 'file' | 'line'>,
  vocabulary: PolicyVocabulary,
): DecisionTest {
  const { name = '', beneath = false, given = {}, expect, rule, sends, columns } = test
  const field = findObjectField(test)
  const id = test.namespace ?? test.table ?? test.transaction ?? []
  const permissions = [...vocabulary.expand(test.operations, 'allow')]
  const { address, now, context, metadata, properties, ...facts } = given
  // Facts that the operation does not have are ignored.
  const stated = createStatedFacts({ ...facts, metadata: toMap(metadata), properties: toMap(properties) })
  const common = {
    principal: createCaller(test.as),
    id,
    request: {
      clientAddress: address ?? defaultRequestFacts.clientAddress,
      now: now === undefined ? defaultRequestFacts.now : new Date(parseTimestamp(now)),
      context: toMap(context) ?? defaultRequestFacts.context,
    },
  }
  const requests = permissions
    .filter((permission) => beneath || objectFieldFor(permission) === field)
    .map((permission): AuthorizationRequest => ({
      ...common,
      permission,
      kind: beneath ? 'namespace' : objectKindOfPermission(permission),
      operation: permissionFacts(permission, id, stated, beneath),
    }))
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
