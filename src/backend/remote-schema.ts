import type { z } from 'zod'
import { InterfaceError } from '../interface/errors.ts'
import { operationSchemas } from '../interface/schemas/operation-schemas.ts'
import type { Members } from './catalog.ts'
import { toLanceType } from './engine/lance-type.ts'

const schemaOfTable = operationSchemas.DescribeTable.response.shape.schema

/**
 * The answer of DescribeTable with the types of its schema in the vocabulary of the Lance format. A unit that the
 * interface does not tell is microseconds. Throws Unsupported (406) for a schema that cannot be told so.
 */
export function withLanceSchema(answer: Members): Members {
  const read = schemaOfTable.safeParse(answer['schema'] ?? undefined)
  if (!read.success) throw untold(read.error)
  return read.data === undefined ? answer : { ...answer, schema: inLanceTypes(read.data) }
}

function inLanceTypes(schema: NonNullable<z.output<typeof schemaOfTable>>) {
  try {
    return { ...schema, fields: schema.fields.map((field) => ({ ...field, type: toLanceType(field.type) })) }
  } catch (error) {
    throw untold(error)
  }
}

function untold(cause: unknown): InterfaceError {
  return new InterfaceError('Unsupported', 'the schema of the table cannot be represented for this client', {
    cause,
  })
}
