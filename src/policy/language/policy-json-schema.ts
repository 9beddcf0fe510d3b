import { columnTypes } from '../restrictions/column-type.ts'
import { extraOperationNamePattern } from '../../catalog-api/extra-operation.ts'
import { permissionGroups, permissionNames } from '../../catalog-api/permissions.ts'
import { fileApiVersion, policyKind, resourceApiVersion } from './api-version.ts'
import {
  createObjectSchema,
  label,
  line,
  names,
  operations,
  ruleId,
  text,
  texts,
  time,
  type Schema,
} from './json-schema-parts.ts'
import {
  columnsWithoutFields,
  commitFields,
  decisionTableFields,
  documentFields,
  metadataFields,
  policyModes,
  namedSubjectFields,
  resourceMetadataFields,
  restrictionFields,
  ruleFields,
  subjectFields,
  taggedColumnFields,
  taggedTableFields,
  tagsFields,
} from './policy-fields.ts'
import { testSchema } from './test-json-schema.ts'

/**
 * Creates the JSON Schema of a policy document for editors (draft 7, which has the best editor support). It does not
 * cover everything that the parser checks, such as the syntax of conditions.
 */
export function createPolicySchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'AccessPolicy of the catalog gateway',
    ...createObjectSchema(documentFields, documentSchemas, ['apiVersion', 'kind', 'metadata', 'namespace'], {
      anyOf: [
        { required: ['rules'] },
        { required: ['commits'] },
        { required: ['restrict'] },
        { required: ['tags'] },
      ],
      ...metadataByVersion,
    }),
    definitions,
  }
}

export function createDecisionTableSchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'DecisionTable of the catalog gateway',
    ...createObjectSchema(
      decisionTableFields,
      {
        apiVersion: documentSchemas.apiVersion,
        kind: { const: 'DecisionTable' },
        metadata: documentSchemas.metadata,
        tests: documentSchemas.tests,
      },
      ['apiVersion', 'kind', 'metadata', 'tests'],
      metadataByVersion,
    ),
    definitions,
  }
}

const tagNames = { type: 'array', items: ruleId, minItems: 1 }

const namedSubjectSchemas = { users: names, groups: names, keys: names, serviceAccounts: names }

const subjectSchemas = {
  ...namedSubjectSchemas,
  everyone: { const: true },
  any: { const: true },
  anonymous: { const: true },
  except: { $ref: '#/definitions/except' },
}

const ruleSchemas = {
  id: ruleId,
  effect: { enum: ['allow', 'deny'] },
  subjects: createObjectSchema(subjectFields, subjectSchemas, [], {
    anyOf: Object.keys(subjectSchemas)
      .filter((name) => name !== 'except')
      .map((name) => ({ required: [name] })),
  }),
  operations,
  tables: names,
  when: { type: 'string', maxLength: 2000 },
  until: time,
  message: line,
}

const restrictionSchemas = {
  id: ruleId,
  subjects: ruleSchemas.subjects,
  tables: names,
  columns: {
    anyOf: [
      { type: 'object', minProperties: 1, additionalProperties: { enum: columnTypes } },
      createObjectSchema(columnsWithoutFields, { without: tagNames }, ['without']),
    ],
  },
  rows: text,
}

const columnSchema = {
  anyOf: [
    { enum: columnTypes },
    createObjectSchema(taggedColumnFields, { type: { enum: columnTypes }, tags: tagNames }, ['type']),
  ],
}

const taggedTableSchema = createObjectSchema(
  taggedTableFields,
  { tags: tagNames, columns: { type: 'object', minProperties: 1, additionalProperties: columnSchema } },
  [],
)

const metadataByVersion = {
  oneOf: [
    {
      properties: {
        apiVersion: { const: fileApiVersion },
        metadata: createObjectSchema(metadataFields, { name: label, description: text }, ['name']),
      },
    },
    {
      properties: {
        apiVersion: { const: resourceApiVersion },
        metadata: createObjectSchema(
          resourceMetadataFields,
          {
            name: label,
            namespace: text,
            labels: texts,
            annotations: texts,
            uid: {},
            resourceVersion: {},
            generation: {},
            creationTimestamp: {},
            deletionTimestamp: {},
            deletionGracePeriodSeconds: {},
            finalizers: {},
            generateName: {},
            ownerReferences: {},
            managedFields: {},
          },
          ['name'],
        ),
      },
    },
  ],
}

const documentSchemas = {
  apiVersion: { enum: [fileApiVersion, resourceApiVersion] },
  kind: { const: policyKind },
  metadata: {},
  forEach: {
    type: 'object',
    additionalProperties: { type: 'array', items: label, minItems: 1 },
    minProperties: 1,
    maxProperties: 1,
  },
  namespace: { type: 'array', items: { type: 'string', minLength: 1, pattern: '^[^*]+$' } },
  mode: { enum: policyModes },
  inherit: { type: 'boolean' },
  final: operations,
  onDeny: { enum: [403, 404] },
  contact: line,
  commits: createObjectSchema(
    commitFields,
    { folders: names, metadata: names, except: { $ref: '#/definitions/except' } },
    [],
    { anyOf: [{ required: ['folders'] }, { required: ['metadata'] }] },
  ),
  tags: createObjectSchema(
    tagsFields,
    { namespace: tagNames, tables: { type: 'object', additionalProperties: taggedTableSchema } },
    [],
  ),
  restrict: {
    type: 'array',
    items: createObjectSchema(restrictionFields, restrictionSchemas, ['id', 'subjects', 'tables', 'columns']),
  },
  rules: {
    type: 'array',
    items: createObjectSchema(ruleFields, ruleSchemas, ['id', 'effect', 'subjects', 'operations']),
  },
  tests: { type: 'array', items: testSchema },
}

const definitions = {
  label: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' },
  /** A label, in which forEach may have a variable. */
  ruleId: { type: 'string', pattern: '^[A-Za-z0-9{][A-Za-z0-9._{}-]*$' },
  names: { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1 },
  operations: {
    type: 'array',
    items: {
      anyOf: [
        { enum: [...permissionGroups.keys(), ...permissionNames] },
        {
          type: 'string',
          pattern: extraOperationNamePattern,
          description: 'An extra operation that the settings declare.',
        },
      ],
    },
    minItems: 1,
  },
  except: createObjectSchema(namedSubjectFields, namedSubjectSchemas, [], { minProperties: 1 }),
}
