import { policySchema } from '../../../src/policy/language/policy-schema.ts'
import { toJsonSchema, type JsonSchema } from '../../../src/policy/language/schema-parts.ts'
import type { GeneratedTable } from './generated-table.ts'

/** Shown with their own tables, or of no interest to readers. */
const hidden: readonly string[] = [
  'apiVersion',
  'kind',
  'metadata',
  'rules.subjects.',
  'restrict.subjects.',
  'commits.except.',
  'tests.',
]

/** The fields of a document with what the schema says of them. */
export const fieldsReference: GeneratedTable = {
  name: 'fields',
  rows: [['field', 'meaning'], ...listFields(toJsonSchema(policySchema), '')],
}

function listFields({ properties = {}, required = [] }: JsonSchema, path: string): string[][] {
  return Object.entries(properties).flatMap(([name, field]) => {
    if (typeof field === 'boolean' || hidden.includes(path + name) || hidden.includes(path)) return []
    const isRequired = required.includes(name) ? ' (required)' : ''
    const { description = '', items, additionalProperties } = field
    const row = [`\`${path}${name}\`${isRequired}`, description.replaceAll('|', String.raw`\|`)]
    const inner = [field, items, additionalProperties].filter((one) => isMap(one))
    return [row, ...inner.flatMap((one) => listFields(one, `${path}${name}.`))]
  })
}

function isMap(schema: unknown): schema is JsonSchema {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema) && 'properties' in schema
}
