import { z } from 'zod'
import { identifierSchema, optionalMember, requestSchema, changeResponseSchema } from './members.ts'
import { tableSchemas } from './tables.ts'
import { tableVersionSchema, versionSchemas } from './versions.ts'

/** A larger batch is an error, or an attack on the locks of the tables. */
const maxBatchSize = 1000

/** No route names the table, so the `id` that is optional elsewhere is required. */
const requiredId = { id: identifierSchema.min(1, 'expected the id of a table') }

const declaration = tableSchemas.DeclareTable.request.extend(requiredId).meta({ id: 'DeclareTableEntry' })
const newVersion = versionSchemas.CreateTableVersion.request
  .extend(requiredId)
  .meta({ id: 'CreateTableVersionEntry' })
const deletion = versionSchemas.BatchDeleteTableVersions.request
  .extend(requiredId)
  .meta({ id: 'DeleteTableVersionsEntry' })
const deregistration = tableSchemas.DeregisterTable.request
  .extend(requiredId)
  .meta({ id: 'DeregisterTableEntry' })

const change = z
  .object({
    declare_table: optionalMember(declaration),
    create_table_version: optionalMember(newVersion),
    delete_table_versions: optionalMember(deletion),
    deregister_table: optionalMember(deregistration),
  })
  .refine(
    (members) => Object.values(members).filter((member) => member !== undefined).length === 1,
    'expected exactly one of declare_table, create_table_version, delete_table_versions, deregister_table',
  )
  .meta({ id: 'CommitTableOperation' })

const result = z
  .strictObject({
    declare_table: tableSchemas.DeclareTable.response,
    create_table_version: versionSchemas.CreateTableVersion.response,
    delete_table_versions: versionSchemas.BatchDeleteTableVersions.response,
    deregister_table: tableSchemas.DeregisterTable.response,
  })
  .partial()
  .meta({ id: 'CommitTableResult' })

export const batchSchemas = {
  BatchCreateTableVersions: {
    request: requestSchema({
      entries: z.array(newVersion).min(1).max(maxBatchSize),
    }),
    response: changeResponseSchema({ versions: z.array(tableVersionSchema) }),
  },
  BatchCommitTables: {
    request: requestSchema({ operations: z.array(change).min(1).max(maxBatchSize) }),
    response: changeResponseSchema({ results: z.array(result) }),
  },
}
