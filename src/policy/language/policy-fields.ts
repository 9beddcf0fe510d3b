import { authenticationMethods } from '../../identity/principal.ts'
import { getKeys } from '../../lib/get-keys.ts'
import { columnTypes } from '../restrictions/column-type.ts'
import { descriptionAnnotation, fileApiVersion, policyKind, resourceApiVersion } from './api-version.ts'

/*
 * The fields of the policy language with their JSON Schemas and descriptions, for the parser and for editors.
 */

export type Schema = Readonly<Record<string, unknown>>

// Definitions of policy-json-schema.ts.
const label = { $ref: '#/definitions/label' }
const ruleId = { $ref: '#/definitions/ruleId' }
const names = { $ref: '#/definitions/names' }
const operations = { $ref: '#/definitions/operations' }
const except = { $ref: '#/definitions/except' }

const line = { type: 'string', minLength: 1, maxLength: 200 }
const time = { type: 'string', format: 'date-time' }
const text = { type: 'string' }
const texts = { type: 'object', additionalProperties: { type: 'string' } }
const path = { type: 'array', items: { type: 'string', minLength: 1 } }
const tagNames = { type: 'array', items: ruleId, minItems: 1 }

function describe(schema: Schema, description: string): Schema {
  return { description, ...schema }
}

/** Schema of an object with exactly these fields. */
export function createObjectSchema<Name extends string>(
  fields: Readonly<Record<Name, Schema>>,
  required: readonly NoInfer<Name>[] = [],
  more: Schema = {},
): Schema {
  return {
    type: 'object',
    properties: fields,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...more,
  }
}

export const policyModes = ['enforce', 'shadow', 'development'] as const

export const metadataFields = {
  name: describe(label, 'Unique in the folder of policies; appears in logs and audit records.'),
  description: describe(text, 'Description.'),
}

const ignored = describe({}, 'Ignored.')

/** Metadata with the API version of resources. The fields from `uid` on are set by the API server. */
export const resourceMetadataFields = {
  name: describe(label, 'Unique in the folder of policies; appears in logs and audit records.'),
  namespace: describe(text, 'The Kubernetes namespace; ignored in files.'),
  labels: describe(texts, 'Labels; ignored.'),
  annotations: describe(texts, `Annotations; ${descriptionAnnotation} is the description.`),
  uid: ignored,
  resourceVersion: ignored,
  generation: ignored,
  creationTimestamp: ignored,
  deletionTimestamp: ignored,
  deletionGracePeriodSeconds: ignored,
  finalizers: ignored,
  generateName: ignored,
  ownerReferences: ignored,
  managedFields: ignored,
}

export const namedSubjectFields = {
  users: describe(names, 'Principals: of an API key its principal, of a token issuer:subject.'),
  groups: describe(names, 'Groups: of a token issuer:group.'),
  keys: describe(names, 'Ids of API keys.'),
  serviceAccounts: describe(names, 'Service accounts of Kubernetes, as issuer:namespace/name.'),
}

export const subjectFields = {
  ...namedSubjectFields,
  everyone: describe(
    { const: true },
    'true: every caller, with or without a credential; only `except` may be beside it.',
  ),
  any: describe({ const: true }, 'true: every authenticated caller.'),
  anonymous: describe(
    { const: true },
    'true: anonymous callers, if the settings accept them; no other field matches them.',
  ),
  except: describe(except, 'Callers that the rule does not apply to.'),
}

const subjects = createObjectSchema(subjectFields, [], {
  anyOf: getKeys(subjectFields)
    .filter((name) => name !== 'except')
    .map((name) => ({ required: [name] })),
})

export const ruleFields = {
  id: describe(ruleId, 'Unique in the document: logs and audit records name it.'),
  effect: describe({ enum: ['allow', 'deny'] }, 'allow, or deny. A deny that applies always wins.'),
  subjects: describe(subjects, 'The callers that the rule applies to: those in any of the lists.'),
  operations: describe(operations, 'Operations of the interface, or groups of them.'),
  tables: describe(
    names,
    'Names of tables directly in the namespace; * matches any characters. By default the rule covers the ' +
      'namespace and everything beneath it. A deny also covers what moves the tables.',
  ),
  when: describe(
    { type: 'string', maxLength: 2000 },
    'A condition in CEL that must hold for the rule to apply.',
  ),
  until: describe(
    time,
    'Only for allow: the time from which the rule no longer applies, such as 2027-01-31T10:00:00Z.',
  ),
  message: describe(
    line,
    'One line for callers that the rule denies, or that it does not allow because of its condition alone; ' +
      'shown with 403 to callers that may know of the object.',
  ),
}

export const columnsWithoutFields = {
  without: describe(
    tagNames,
    'Tags. Of each table, the columns remain that its namespace declares in `tags` and that have none of these.',
  ),
}

export const restrictionFields = {
  id: describe(ruleId, 'Unique in the document: logs and audit records name it.'),
  subjects: describe(subjects, 'The callers, and exceptions.'),
  tables: describe(
    names,
    'Patterns of names of tables directly in the namespace. All that is not reading them is denied to the callers.',
  ),
  columns: describe(
    {
      anyOf: [
        { type: 'object', minProperties: 1, additionalProperties: { enum: columnTypes } },
        createObjectSchema(columnsWithoutFields, ['without']),
      ],
    },
    'The only columns that the callers may read, each with its type, such as { id: number, person.city: text }. ' +
      'New columns of a table stay hidden. Or { without: [pii] }: the columns that `tags` declares for the table, but those ' +
      'with one of these tags.',
  ),
  rows: describe(
    text,
    "A condition on the only rows that the callers may read, such as region = 'EU' and tenant in " +
      '$principal.claims.tenants. Default: all rows.',
  ),
}

export const taggedColumnFields = {
  type: describe({ enum: columnTypes }, 'The type of the column.'),
  tags: describe(tagNames, 'Tags of the column. Its table does not have them.'),
}

export const taggedTableFields = {
  tags: describe(tagNames, 'Tags of the table, which all its columns have, too.'),
  columns: describe(
    {
      type: 'object',
      minProperties: 1,
      additionalProperties: {
        anyOf: [{ enum: columnTypes }, createObjectSchema(taggedColumnFields, ['type'])],
      },
    },
    'Columns, each with its type, or with type and tags: { id: number, ssn: { type: text, tags: [pii] } }.',
  ),
}

export const tagsFields = {
  namespace: describe(
    tagNames,
    'Tags of the namespace: all that is or will be created beneath it has them, too.',
  ),
  tables: describe(
    { type: 'object', additionalProperties: createObjectSchema(taggedTableFields) },
    'Tables directly in the namespace, by their exact name, each declared in one document only: ' +
      'their tags, and their columns with type and tags.',
  ),
}

export const commitFields = {
  folders: describe(names, 'The only folders under which staging manifests and chosen locations may lie.'),
  metadata: describe(names, 'Keys that the metadata of a new version must have, with non-empty values.'),
  except: describe(except, 'Callers that this does not apply to.'),
}

export const callerFields = {
  anonymous: describe({ const: true }, 'true: an anonymous caller; no other field is allowed.'),
  user: describe(text, 'The name of the principal.'),
  groups: describe(path, 'Its groups.'),
  key: describe(text, 'The id of its API key.'),
  method: describe(
    { enum: authenticationMethods },
    'How the caller authenticated: api-key, token or certificate. Default: token if claims or issuer are given, otherwise api-key.',
  ),
  issuer: describe(text, 'The issuer.'),
  claims: describe({ type: 'object' }, 'The claims of its token.'),
}

export const requestFields = {
  address: describe(text, 'The client address (client.address in conditions). Default: 192.0.2.1.'),
  now: describe(time, 'The time of the request. Default: 2026-01-01T00:00:00Z.'),
  context: describe(texts, 'The context headers, by key.'),
  mode: describe(text, 'As in conditions.'),
  behavior: describe(text, 'As in conditions.'),
  branch: describe(text, 'As in conditions. Default for tables: main.'),
  tag: describe(text, 'As in conditions.'),
  location: describe(text, 'As in conditions.'),
  manifestPath: describe(text, 'As in conditions.'),
  destination: describe(path, 'As in conditions.'),
  metadata: describe(texts, 'As in conditions.'),
  properties: describe(texts, 'As in conditions.'),
}

export const testFields = {
  name: describe(text, 'Description of the test.'),
  as: describe(createObjectSchema(callerFields), 'The caller. Default: a caller that no policy names.'),
  operations: describe(operations, 'Operations, or groups of them; each is decided separately.'),
  namespace: describe(path, 'The namespace, as a list of names.'),
  table: describe(
    { ...path, minItems: 1 },
    'The table, view or function: namespace and name, as a list of names.',
  ),
  transaction: describe(
    { ...path, minItems: 2 },
    'The transaction: the id of its table and its own name, as a list of names.',
  ),
  beneath: describe({ const: true }, 'true: the namespace and everything beneath it, existing or not.'),
  given: describe(createObjectSchema(requestFields), 'Facts of the request.'),
  expect: describe({ enum: ['allow', 'deny'] }, 'allow, or deny.'),
  rule: describe(text, 'The expected deciding rule: its id, or policy/id.'),
  sends: describe(
    text,
    "With allow: the expected condition of restrictions on rows, as `policy explain` prints it, such as (`region` = 'EU').",
  ),
  columns: describe(
    names,
    'With allow: the columns that restrictions are expected to leave, in any order, such as [id, person.city].',
  ),
}

export const documentFields = {
  apiVersion: describe({ enum: [fileApiVersion, resourceApiVersion] }, 'The version of the language.'),
  kind: describe({ const: policyKind }, 'The kind of the document.'),
  metadata: describe({}, 'Name and description of the policy.'),
  mode: describe(
    { enum: policyModes },
    'shadow: the policy is evaluated, but only differences are counted and logged. development: it is in force in ' +
      '`catalog-gateway dev` alone; other gateways refuse it. Default: enforce.',
  ),
  forEach: describe(
    {
      type: 'object',
      additionalProperties: { type: 'array', items: label, minItems: 1 },
      minProperties: 1,
      maxProperties: 1,
    },
    'One variable and its values, such as { team: [crm, billing] }: the policy is one for each value, which replaces ' +
      '{team} in every text. Values are names; {team} must be in the namespace.',
  ),
  namespace: describe(
    { type: 'array', items: { type: 'string', minLength: 1, pattern: '^[^*]+$' } },
    'The namespace of the policy, as a list of names. [] is the root.',
  ),
  inherit: describe(
    { type: 'boolean' },
    'false: allow rules of parent namespaces do not apply here or beneath.',
  ),
  final: describe(
    operations,
    'Operations, or groups of them, that policies of child namespaces cannot allow.',
  ),
  onDeny: describe(
    { enum: [403, 404] },
    'Response to a denial, here and beneath. 404: conceal that the object exists. 403: denied. ' +
      'Default: 403 for callers that may list the object, otherwise 404.',
  ),
  contact: describe(
    line,
    'Whom to ask for access, in one line: shown with a denial here or beneath to callers that may see this namespace.',
  ),
  commits: describe(
    createObjectSchema(commitFields, [], {
      anyOf: [{ required: ['folders'] }, { required: ['metadata'] }],
    }),
    'What every new version of a table, here or beneath, must fulfil.',
  ),
  restrict: describe(
    {
      type: 'array',
      items: createObjectSchema(restrictionFields, ['id', 'subjects', 'tables', 'columns']),
    },
    'What callers may read of tables of which they may not read everything. A restriction allows nothing, and nothing ' +
      'beneath undoes it.',
  ),
  tags: describe(
    createObjectSchema(tagsFields),
    'Tags of the namespace and of tables and columns in it, for conditions ("pii" in tags) and restrictions ' +
      '(columns: { without: [pii] }). They allow and deny nothing by themselves.',
  ),
  rules: describe(
    {
      type: 'array',
      items: createObjectSchema(ruleFields, ['id', 'effect', 'subjects', 'operations']),
    },
    'Allow and deny rules.',
  ),
  tests: describe(
    {
      type: 'array',
      items: createObjectSchema(testFields, ['operations', 'expect'], {
        oneOf: ['namespace', 'table', 'transaction'].map((name) => ({ required: [name] })),
      }),
    },
    'Expected decisions of the policies in the folder, for `policy test`; no effect on requests.',
  ),
}

export const decisionTableFields = {
  apiVersion: documentFields.apiVersion,
  kind: describe({ const: 'DecisionTable' }, 'The kind of the document.'),
  metadata: describe({}, 'Name and description of the table.'),
  tests: documentFields.tests,
}
