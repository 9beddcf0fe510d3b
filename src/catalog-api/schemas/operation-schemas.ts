import type { z } from 'zod'
import { batchSchemas } from './batches.ts'
import { rowChangeSchemas } from './row-changes.ts'
import { columnSchemas } from './columns.ts'
import { rowSchemas } from './rows.ts'
import { indexSchemas } from './indexes.ts'
import { namespaceSchemas } from './namespaces.ts'
import { planSchemas } from './query-plans.ts'
import { queryTableRequestSchema } from './query.ts'
import { tableMetadataSchemas } from './table-metadata.ts'
import { referenceSchemas } from './tags-and-branches.ts'
import { tableSchemas } from './tables.ts'
import { transactionSchemas } from './transactions.ts'
import { versionSchemas } from './versions.ts'

/**
 * The schemas of the operations by name. `request` describes the members of a request wherever they stand, in the
 * JSON body or in the query of the route; `response` the JSON of a successful answer, where there is one.
 */
export const operationSchemas = {
  ...namespaceSchemas,
  ...tableSchemas,
  ...rowSchemas,
  ...rowChangeSchemas,
  ...columnSchemas,
  ...planSchemas,
  ...tableMetadataSchemas,
  ...versionSchemas,
  ...referenceSchemas,
  ...indexSchemas,
  ...batchSchemas,
  ...transactionSchemas,
  QueryTable: { request: queryTableRequestSchema },
}

type OperationSchemas = typeof operationSchemas

/** The name of an operation that has schemas. */
export type DescribedOperation = keyof OperationSchemas

/** A request of an operation after it was read: defaults filled in, what was null absent. */
export type RequestOf<Name extends DescribedOperation> = z.output<OperationSchemas[Name]['request']>

/** The answer of an operation; never for an operation whose answer has no JSON. */
export type ResponseOf<Name extends DescribedOperation> = OperationSchemas[Name] extends {
  response: infer Response extends z.ZodType
}
  ? z.input<Response>
  : never
