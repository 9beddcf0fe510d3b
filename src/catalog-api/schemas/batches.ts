import { z } from 'zod'
import { identifierSchema, optionalMember, requestSchema, responseSchema } from './members.ts'
import { tableSchemas } from './tables.ts'
import { tableVersionSchema, versionSchemas } from './versions.ts'

/** More changes than one batch may hold are a mistake, or an attack on the locks of the tables. */
const maxBatchSize = 1000

/** In a batch no route names the table, so the `id` that is optional elsewhere must be there. */
const requiredId = { id: identifierSchema.min(1, 'expected the id of a table') }

/** The changes that a batch can hold, by the names of the members that carry them; exactly one in each. */
const change = z
  .object({
    declare_table: optionalMember(tableSchemas.DeclareTable.request.extend(requiredId)),
    create_table_version: optionalMember(versionSchemas.CreateTableVersion.request.extend(requiredId)),
    delete_table_versions: optionalMember(versionSchemas.BatchDeleteTableVersions.request.extend(requiredId)),
    deregister_table: optionalMember(tableSchemas.DeregisterTable.request.extend(requiredId)),
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
    request: requestSchema({
      entries: z.array(versionSchemas.CreateTableVersion.request.extend(requiredId)).min(1).max(maxBatchSize),
    }),
    response: responseSchema({ versions: z.array(tableVersionSchema) }),
  },
  BatchCommitTables: {
    request: requestSchema({ operations: z.array(change).min(1).max(maxBatchSize) }),
    response: responseSchema({ results: z.array(result) }),
  },
}
