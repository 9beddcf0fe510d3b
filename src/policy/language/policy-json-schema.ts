import { extraOperationNamePattern } from '../../catalog-api/extra-operation.ts'
import { permissionGroups, permissionNames } from '../../catalog-api/permissions.ts'
import { fileApiVersion, resourceApiVersion } from './api-version.ts'
import {
  createObjectSchema,
  decisionTableFields,
  documentFields,
  metadataFields,
  namedSubjectFields,
  resourceMetadataFields,
  type Schema,
} from './policy-fields.ts'

/**
 * Creates the JSON Schema of a policy document for editors (draft 7, which has the best editor support). It does not
 * cover everything that the parser checks, such as the syntax of conditions.
 */
export function createPolicySchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'AccessPolicy of the catalog gateway',
    ...createObjectSchema(documentFields, ['apiVersion', 'kind', 'metadata', 'namespace'], {
      anyOf: ['rules', 'commits', 'restrict', 'tags'].map((name) => ({ required: [name] })),
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
      ['apiVersion', 'kind', 'metadata', 'tests'],
      metadataByVersion,
    ),
    definitions,
  }
}

const metadataByVersion = {
  oneOf: [
    describeVersion(fileApiVersion, createObjectSchema(metadataFields, ['name'])),
    describeVersion(resourceApiVersion, createObjectSchema(resourceMetadataFields, ['name'])),
  ],
}

function describeVersion(version: string, metadata: Schema): Schema {
  return { properties: { apiVersion: { const: version }, metadata } }
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
  except: createObjectSchema(namedSubjectFields, [], { minProperties: 1 }),
}
