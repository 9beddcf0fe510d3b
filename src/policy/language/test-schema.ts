import { z } from 'zod'
import { authenticationMethods } from '../../identity/index.ts'
import {
  fullList,
  list,
  mapOf,
  name,
  operations,
  optional,
  path,
  text,
  texts,
  time,
  yes,
} from './schema-parts.ts'

/* Tests of policies and of decision tables, as the other schemas of the language. */

const caller = z.strictObject({
  anonymous: optional(yes, 'true: an anonymous caller; no other field is allowed.'),
  user: optional(text, 'The name of the principal.'),
  groups: optional(list(name, '[sales]'), 'Its groups.'),
  key: optional(text, 'The id of its API key.'),
  method: optional(
    z.enum(authenticationMethods),
    'How the caller authenticated: api-key, token or certificate. Default: token if claims or issuer are given, otherwise api-key.',
  ),
  issuer: optional(text, 'The issuer.'),
  claims: optional(mapOf(z.unknown(), 'claims, such as { amr: [mfa] }'), 'The claims of its token.'),
})

const asInConditions = optional(text, 'As in conditions.')

const givenFacts = z.strictObject({
  address: optional(text, 'The client address (client.address in conditions). Default: 192.0.2.1.'),
  now: optional(time, 'The time of the request. Default: 2026-01-01T00:00:00Z.'),
  context: optional(texts, 'The context headers, by key.'),
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

export const testSchema = z
  .strictObject({
    name: optional(text, 'Description of the test.'),
    as: optional(caller, 'The caller. Default: a caller that no policy names.'),
    operations: operations.describe('Operations, or groups of them; each is decided separately.'),
    namespace: optional(path, 'The namespace, as a list of names.'),
    table: path
      .meta({
        minItems: 1,
        description: 'The table, view or function: namespace and name, as a list of names.',
      })
      .optional(),
    transaction: path
      .meta({
        minItems: 2,
        description: 'The transaction: the id of its table and its own name, as a list of names.',
      })
      .optional(),
    beneath: optional(yes, 'true: the namespace and everything beneath it, existing or not.'),
    given: optional(givenFacts, 'Facts of the request, by their names in conditions.'),
    expect: z.enum(['allow', 'deny']).describe('allow, or deny.'),
    rule: optional(text, 'The expected deciding rule: its id, or policy/id.'),
    sends: optional(
      text,
      "With allow: the expected condition of restrictions on rows, as `policy explain` prints it, such as (`region` = 'EU').",
    ),
    columns: optional(
      fullList(name, '[id, person.city]'),
      'With allow: the columns that restrictions are expected to leave, in any order, such as [id, person.city].',
    ),
  })
  .meta({ oneOf: ['namespace', 'table', 'transaction'].map((name) => ({ required: [name] })) })

export const testsSchema = list(testSchema, '[{ as, operations, table, expect }]').describe(
  'Expected decisions of the policies in the folder, for `policy test`; no effect on requests.',
)
