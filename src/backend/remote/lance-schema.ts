import type { z } from 'zod'
import { CatalogError } from '../../catalog-api/catalog-error.ts'
import { operationSchemas } from '../../catalog-api/schemas/operation-schemas.ts'
import type { RequestMembers } from '../contract/catalog.ts'
import { toLanceType } from '../engine/schema/lance-type.ts'

const tableSchemaSchema = operationSchemas.DescribeTable.response.shape.schema

/** Missing units default to microseconds. Throws Unsupported (406) for a schema that cannot be converted. */
export function convertToLanceSchema(response: RequestMembers): RequestMembers {
  const parsed = tableSchemaSchema.safeParse(response['schema'] ?? undefined)
  if (!parsed.success) throw unsupportedSchemaError(parsed.error)
  return parsed.data === undefined ? response : { ...response, schema: convertTypes(parsed.data) }
}

function convertTypes(schema: NonNullable<z.output<typeof tableSchemaSchema>>) {
  try {
    return { ...schema, fields: schema.fields.map((field) => ({ ...field, type: toLanceType(field.type) })) }
  } catch (error) {
    throw unsupportedSchemaError(error)
  }
}

function unsupportedSchemaError(cause: unknown): CatalogError {
  return new CatalogError('Unsupported', 'the schema of the table cannot be represented for this client', {
    cause,
  })
}
