import type { z } from 'zod'
import { realtimeEngineSchemas, rowSchemas } from './row-changes.ts'
import { functionSchemas, secretSchemas } from './functions.ts'
import { grantSchemas, jobSchemas } from './grants-and-jobs.ts'
import { columnSchemas } from './columns.ts'
import { indexSchemas } from './indexes.ts'
import { planSchemas, queryTableRequestSchema } from './query.ts'
import { namespaceSchemas, tableMetadataSchemas, tableSchemas } from './tables.ts'
import { referenceSchemas } from './tags-and-branches.ts'
import { versionSchemas } from './versions.ts'
import { viewSchemas } from './views.ts'

/** `request` covers members of the JSON body and of the query; `response` the JSON of a success. */
export const operationSchemas = {
  ...namespaceSchemas,
  ...tableSchemas,
  ...rowSchemas,
  ...columnSchemas,
  ...planSchemas,
  ...tableMetadataSchemas,
  ...versionSchemas,
  ...referenceSchemas,
  ...indexSchemas,
  ...realtimeEngineSchemas,
  ...viewSchemas,
  ...functionSchemas,
  ...jobSchemas,
  ...grantSchemas,
  ...secretSchemas,
  QueryTable: { request: queryTableRequestSchema },
}

type OperationSchemas = typeof operationSchemas

export type DescribedOperation = keyof OperationSchemas

/** A parsed request: defaults filled in, null members absent. */
export type RequestOf<Name extends DescribedOperation> = z.output<OperationSchemas[Name]['request']>

export type ResponseOf<Name extends DescribedOperation> = OperationSchemas[Name] extends {
  response: infer Response extends z.ZodType
}
  ? z.input<Response>
  : never
