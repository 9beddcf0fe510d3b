import { authenticationMethods } from '../../identity/principal.ts'
import { createObjectSchema, names, operations, text, texts, time } from './json-schema-parts.ts'
import { callerFields, requestFields, testFields } from './policy-fields.ts'

const path = { type: 'array', items: { type: 'string', minLength: 1 } }

/** The JSON Schema of a test of policies. */
export const testSchema = createObjectSchema(
  testFields,
  {
    name: text,
    as: createObjectSchema(
      callerFields,
      {
        anonymous: { const: true },
        user: text,
        groups: path,
        key: text,
        method: { enum: authenticationMethods },
        issuer: text,
        claims: { type: 'object' },
      },
      [],
    ),
    operations,
    namespace: path,
    table: { ...path, minItems: 1 },
    transaction: { ...path, minItems: 2 },
    beneath: { const: true },
    given: createObjectSchema(
      requestFields,
      {
        address: text,
        now: time,
        context: texts,
        mode: text,
        behavior: text,
        branch: text,
        tag: text,
        location: text,
        manifestPath: text,
        destination: path,
        metadata: texts,
        properties: texts,
      },
      [],
    ),
    expect: { enum: ['allow', 'deny'] },
    rule: text,
    sends: text,
    columns: names,
  },
  ['operations', 'expect'],
  { oneOf: ['namespace', 'table', 'transaction'].map((name) => ({ required: [name] })) },
)
