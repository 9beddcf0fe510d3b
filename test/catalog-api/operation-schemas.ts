import type { OperationName } from '../../src/catalog-api/operations.ts'
import { z } from 'zod'
import { requestExamples } from './request-examples.ts'
import { operationSchemas } from '../../src/backend/schemas/operation-schemas.ts'

/** Every operation has a schema of its requests: without one, nothing would say which members it takes. */
const schemasByName: Readonly<
  Record<OperationName, { readonly request: z.ZodType; readonly response?: z.ZodType }>
> = operationSchemas

/** Prints the schemas of the catalog as the gateway reads them, with the definitions that they share in one place. */
export function printOperationSchemas(): string {
  const definitions: Record<string, unknown> = {}
  const print = (schema: z.ZodType): object => {
    const {
      $schema: _dialect,
      $defs,
      ...own
    } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
    for (const [name, { id: _id, ...definition }] of Object.entries($defs ?? {}))
      definitions[name] = definition
    return own
  }
  const examples: Readonly<Record<string, unknown>> = requestExamples
  const operations = Object.entries(schemasByName).map(([name, { request, response }]) => [
    name,
    {
      request: print(request),
      ...(response && { response: print(response) }),
      ...(examples[name] !== undefined && { example: examples[name] }),
    },
  ])
  return `${JSON.stringify({ operations: Object.fromEntries(operations), $defs: definitions }, undefined, 2)}\n`
}
