import { z } from 'zod'
import { getMembers, isObject } from '../../lib/json/json-values.ts'
import { columnTypes } from '../restrictions/filter-expression.ts'
import {
  anyOf,
  either,
  filledLabel,
  fullList,
  fullMapOf,
  label,
  line,
  list,
  mapOf,
  matching,
  name,
  operations,
  optional,
  text,
  texts,
  time,
  toSubschema,
  yes,
} from './schema-parts.ts'
import { testsSchema } from './test-schema.ts'
import { descriptionAnnotation, fileApiVersion, policyKind, resourceApiVersion } from './api-version.ts'

/*
 * The policy language: the parser, its types, the JSON Schema for editors and the CustomResourceDefinition are made from
 * these schemas. They read values of YAML as they are and convert nothing.
 */

const tagNames = fullList(filledLabel, '[pii]')
const columnType = z.enum(columnTypes)
const tables = fullList(name, '[orders, "evt_*"]')

const names = fullList(name, '[alice, "corp:bob"]')
const serviceAccount = matching(/^[^:*]+:[a-z0-9-]+\/[a-z0-9.-]+$/, 'issuer:namespace/name', { minLength: 1 })

export const namedSubjectsSchema = z.strictObject({
  users: optional(names, 'Principals: of an API key its principal, of a token issuer:subject.'),
  groups: optional(names, 'Groups: of a token issuer:group.'),
  keys: optional(names, 'Ids of API keys.'),
  serviceAccounts: optional(
    fullList(serviceAccount, '["cluster:etl/loader"]'),
    'Service accounts of Kubernetes, as issuer:namespace/name.',
  ),
})

const exceptions = namedSubjectsSchema.meta({ minProperties: 1 })

const subjectFields = {
  ...namedSubjectsSchema.shape,
  everyone: optional(
    yes,
    'true: every caller, with or without a credential; only `except` may be beside it.',
  ),
  any: optional(yes, 'true: every authenticated caller.'),
  anonymous: optional(
    yes,
    'true: anonymous callers, if the settings accept them; no other field matches them.',
  ),
}

export const subjectsSchema = z
  .strictObject({
    ...subjectFields,
    except: optional(exceptions, 'Callers that the rule does not apply to.'),
  })
  .meta(anyOf(Object.keys(subjectFields)))

export const ruleSchema = z.strictObject({
  id: filledLabel.describe('Unique in the document: logs and audit records name it.'),
  effect: z.enum(['allow', 'deny']).describe('allow, or deny. A deny that applies always wins.'),
  subjects: subjectsSchema.describe('The callers that the rule applies to: those in any of the lists.'),
  operations: operations.describe('Operations of the interface, or groups of them.'),
  tables: optional(
    tables,
    'Names of tables directly in the namespace; * matches any characters. By default the rule covers the ' +
      'namespace and everything beneath it. A deny also covers what moves the tables.',
  ),
  when: text
    .meta({ maxLength: 2000, description: 'A condition in CEL that must hold for the rule to apply.' })
    .optional(),
  until: optional(
    time,
    'Only for allow: the time from which the rule no longer applies, such as 2027-01-31T10:00:00Z.',
  ),
  message: optional(
    line,
    'One line for callers that the rule denies, or that it does not allow because of its condition alone; ' +
      'shown with 403 to callers that may know of the object.',
  ),
})

const columnsWithout = z.strictObject({
  without: tagNames.describe(
    'Tags. Of each table, the columns remain that its namespace declares in `tags` and that have none of these.',
  ),
})

export const restrictionSchema = z.strictObject({
  id: filledLabel.describe('Unique in the document: logs and audit records name it.'),
  subjects: subjectsSchema.describe('The callers, and exceptions.'),
  tables: tables.describe(
    'Patterns of names of tables directly in the namespace. All that is not reading them is denied to the callers.',
  ),
  columns: either(
    fullMapOf(columnType, 'a map of columns, such as { id: number, name: text }'),
    columnsWithout,
    // A column may have the name: its type is no list.
    (columns) => Array.isArray(getMembers(columns)['without']),
  ).describe(
    'The only columns that the callers may read, each with its type, such as { id: number, person.city: text }. ' +
      'New columns of a table stay hidden. Or { without: [pii] }: the columns that `tags` declares for the table, but those ' +
      'with one of these tags.',
  ),
  rows: optional(
    text,
    "A condition on the only rows that the callers may read, such as region = 'EU' and tenant in " +
      '$principal.claims.tenants. Default: all rows.',
  ),
})

const taggedColumn = z.strictObject({
  type: columnType.describe('The type of the column.'),
  tags: optional(tagNames, 'Tags of the column. Its table does not have them.'),
})

const taggedTable = z.strictObject({
  tags: optional(tagNames, 'Tags of the table, which all its columns have, too.'),
  columns: optional(
    fullMapOf(
      either(columnType, taggedColumn, isObject),
      'a map of columns, such as { id: number, ssn: { type: text, tags: [pii] } }',
    ),
    'Columns, each with its type, or with type and tags: { id: number, ssn: { type: text, tags: [pii] } }.',
  ),
})

export const tagsSchema = z.strictObject({
  namespace: optional(
    tagNames,
    'Tags of the namespace: all that is or will be created beneath it has them, too.',
  ),
  tables: optional(
    mapOf(taggedTable, 'a map of tables, such as { customers: { tags: [pii] } }'),
    'Tables directly in the namespace, by their exact name, each declared in one document only: ' +
      'their tags, and their columns with type and tags.',
  ),
})

export const commitsSchema = z
  .strictObject({
    folders: optional(
      fullList(name, '["s3://bucket/team"]'),
      'The only folders under which staging manifests and chosen locations may lie.',
    ),
    metadata: optional(
      fullList(name, '[ticket]'),
      'Keys that the metadata of a new version must have, with non-empty values.',
    ),
    except: optional(exceptions, 'Callers that this does not apply to.'),
  })
  .meta(anyOf(['folders', 'metadata']))

const apiVersion = z.enum([fileApiVersion, resourceApiVersion]).describe('The version of the language.')
const policyName = label.describe('Unique in the folder of policies; appears in logs and audit records.')

const fileMetadata = z.strictObject({
  name: policyName,
  description: optional(text, 'Description.'),
})

const ignored = optional(z.unknown(), 'Ignored.')

/** The fields from `uid` on are set by the API server. */
const resourceMetadata = z.strictObject({
  name: policyName,
  namespace: optional(text, 'The Kubernetes namespace; ignored in files.'),
  labels: optional(texts, 'Labels; ignored.'),
  annotations: optional(texts, `Annotations; ${descriptionAnnotation} is the description.`),
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
})

/** By version. */
export const metadataSchemas = { [fileApiVersion]: fileMetadata, [resourceApiVersion]: resourceMetadata }

const metadataByVersion = {
  oneOf: Object.entries(metadataSchemas).map(([version, metadata]) => ({
    properties: { apiVersion: { const: version }, metadata: toSubschema(metadata) },
  })),
}

export const expectedVariable =
  'one variable, named by letters, digits and _, with its values, such as { team: [crm, billing] }'

export const forEachSchema = mapOf(fullList(label, '[crm, billing]'), expectedVariable)

export const policySchema = z
  .strictObject({
    apiVersion,
    kind: z.literal(policyKind).describe('The kind of the document.'),
    metadata: z.unknown().describe('Name and description of the policy.'),
    mode: optional(
      z.enum(['enforce', 'shadow', 'development']),
      'shadow: the policy is evaluated, but only differences are counted and logged. development: it is in force in ' +
        '`catalog-gateway dev` alone; other gateways refuse it. Default: enforce.',
    ),
    forEach: forEachSchema
      .meta({
        minProperties: 1,
        maxProperties: 1,
        description:
          'One variable and its values, such as { team: [crm, billing] }: the policy is one for each value, which replaces ' +
          '{team} in every text. Values are names; {team} must be in the namespace.',
      })
      .optional(),
    namespace: list(name.meta({ pattern: '^[^*]+$' }), '[prod, sales]').describe(
      'The namespace of the policy, as a list of names. [] is the root.',
    ),
    inherit: optional(z.boolean(), 'false: allow rules of parent namespaces do not apply here or beneath.'),
    final: optional(
      operations,
      'Operations, or groups of them, that policies of child namespaces cannot allow.',
    ),
    onDeny: z
      .literal([403, 404])
      .meta({
        type: 'integer',
        description:
          'Response to a denial, here and beneath. 404: conceal that the object exists. 403: denied. ' +
          'Default: 403 for callers that may list the object, otherwise 404.',
      })
      .optional(),
    contact: optional(
      line,
      'Whom to ask for access, in one line: shown with a denial here or beneath to callers that may see this namespace.',
    ),
    commits: optional(commitsSchema, 'What every new version of a table, here or beneath, must fulfil.'),
    restrict: optional(
      list(restrictionSchema, '[{ id, subjects, tables, columns }]'),
      'What callers may read of tables of which they may not read everything. A restriction allows nothing, and nothing ' +
        'beneath undoes it.',
    ),
    tags: optional(
      tagsSchema,
      'Tags of the namespace and of tables and columns in it, for conditions ("pii" in tags) and restrictions ' +
        '(columns: { without: [pii] }). They allow and deny nothing by themselves.',
    ),
    rules: optional(list(ruleSchema, '[{ id, effect, subjects, operations }]'), 'Allow and deny rules.'),
    tests: testsSchema.optional(),
  })
  .meta({
    title: 'AccessPolicy of the catalog gateway',
    ...anyOf(['rules', 'commits', 'restrict', 'tags']),
    ...metadataByVersion,
  })

export const decisionTableSchema = z
  .strictObject({
    apiVersion,
    kind: z.literal('DecisionTable').describe('The kind of the document.'),
    metadata: z.unknown().describe('Name and description of the table.'),
    tests: testsSchema,
  })
  .meta({ title: 'DecisionTable of the catalog gateway', ...metadataByVersion })
