import { z } from 'zod'
import { identifier, optional, request, response } from './members.ts'
import { tableSchemas } from './tables.ts'
import { tableVersion, versionSchemas } from './versions.ts'

/** More changes than one batch may hold are a mistake, or an attack on the locks of the tables. */
const largestBatch = 1000

/** In a batch no route names the table, so the `id` that is optional elsewhere must be there. */
const named = { id: identifier.min(1, 'expected the id of a table') }

/** The changes that a batch can hold, by the names of the members that carry them; exactly one in each. */
const change = z
  .object({
    declare_table: optional(tableSchemas.DeclareTable.request.extend(named)),
    create_table_version: optional(versionSchemas.CreateTableVersion.request.extend(named)),
    delete_table_versions: optional(versionSchemas.BatchDeleteTableVersions.request.extend(named)),
    deregister_table: optional(tableSchemas.DeregisterTable.request.extend(named)),
  })
  .refine(
    (members) => Object.values(members).filter((member) => member !== undefined).length === 1,
    'expected exactly one of declare_table, create_table_version, delete_table_versions, deregister_table',
  )

/** The results of the changes, in the same members. */
const result = z
  .strictObject({
    declare_table: tableSchemas.DeclareTable.response,
    create_table_version: versionSchemas.CreateTableVersion.response,
    delete_table_versions: versionSchemas.BatchDeleteTableVersions.response,
    deregister_table: tableSchemas.DeregisterTable.response,
  })
  .partial()

/** The schemas of the operations that change several tables at once, wholly or not at all (interface section 2.4). */
export const batchSchemas = {
  BatchCreateTableVersions: {
    request: request({
      entries: z.array(versionSchemas.CreateTableVersion.request.extend(named)).min(1).max(largestBatch),
    }),
    response: response({ versions: z.array(tableVersion) }),
  },
  BatchCommitTables: {
    request: request({ operations: z.array(change).min(1).max(largestBatch) }),
    response: response({ results: z.array(result) }),
  },
}
