import { z } from 'zod'
import {
  branch,
  caseInsensitiveEnum,
  changeSchemas,
  every,
  flagMember,
  identifierSchema,
  int64,
  maybe,
  modeMember,
  model,
  optional,
  pageSchemas,
  schemas,
} from './members.ts'
import { tableSchemas } from './tables.ts'

/**
 * A table version. Its manifest is an object-store key without a leading slash. `timestamp` is the same time as RFC 3339
 * text, as before interface 0.5: released remote clients require it.
 */
const tableVersion = model('TableVersion', {
  version: int64,
  manifest_path: z.string(),
  ...every(maybe.count, 'manifest_size', 'timestamp_millis'),
  ...every(maybe.text, 'e_tag', 'timestamp'),
  metadata: maybe.properties,
})

const versionRange = model('VersionRange', {
  start_version: int64,
  end_version: z.int('expected a version, or -1 for the end').min(-1),
})

/** In CreateTableVersion, `manifest_path` is the staging manifest; its name determines the scheme if none is sent. */
const ofTable = {
  ListTableVersions: pageSchemas({ branch, descending: flagMember }, { versions: z.array(tableVersion) }),
  CreateTableVersion: changeSchemas(
    {
      version: int64,
      branch,
      manifest_path: z.string(),
      manifest_size: optional.count,
      e_tag: optional.text,
      metadata: optional.properties,
      naming_scheme: optional.of(caseInsensitiveEnum(['V1', 'V2'])),
    },
    { version: tableVersion.optional() },
    'CreateTableVersionResponse',
  ),
  DescribeTableVersion: schemas({ version: optional.count, branch }, { version: tableVersion }),
  RestoreTable: changeSchemas({ version: int64, branch }, {}),
  BatchDeleteTableVersions: changeSchemas(
    { branch, ranges: z.array(versionRange) },
    { deleted_count: maybe.count },
    'BatchDeleteTableVersionsResponse',
  ),
}

/** A larger batch is an error, or an attack on the locks of the tables. */
const maxBatchSize = 1000

/** No route names the table, so the `id` that is optional elsewhere is required. */
const requiredId = { id: identifierSchema.min(1, 'expected the id of a table') }

const newVersion = ofTable.CreateTableVersion.request
  .extend(requiredId)
  .meta({ id: 'CreateTableVersionEntry' })

/** An object with exactly one of these members. */
function oneOf<Shape extends z.ZodRawShape>(shape: Shape) {
  return z
    .object(shape)
    .refine(
      (members: object) => Object.values(members).filter((member) => member !== undefined).length === 1,
      `expected exactly one of ${Object.keys(shape).join(', ')}`,
    )
}

const { DeclareTable, DeregisterTable } = tableSchemas
const { CreateTableVersion, BatchDeleteTableVersions } = ofTable

const change = oneOf({
  declare_table: optional.of(DeclareTable.request.extend(requiredId).meta({ id: 'DeclareTableEntry' })),
  create_table_version: optional.of(newVersion),
  delete_table_versions: optional.of(
    BatchDeleteTableVersions.request.extend(requiredId).meta({ id: 'DeleteTableVersionsEntry' }),
  ),
  deregister_table: optional.of(
    DeregisterTable.request.extend(requiredId).meta({ id: 'DeregisterTableEntry' }),
  ),
}).meta({ id: 'CommitTableOperation' })

const result = z
  .strictObject({
    declare_table: DeclareTable.response,
    create_table_version: CreateTableVersion.response,
    delete_table_versions: BatchDeleteTableVersions.response,
    deregister_table: DeregisterTable.response,
  })
  .partial()
  .meta({ id: 'CommitTableResult' })

const status = caseInsensitiveEnum(['Queued', 'Running', 'Succeeded', 'Failed', 'Canceled'])
const key = z.string().min(1)

const action = oneOf({
  setStatusAction: optional.of(model('AlterTransactionSetStatus', { status })),
  setPropertyAction: optional.of(
    model('AlterTransactionSetProperty', {
      key,
      value: z.string(),
      mode: modeMember(['Overwrite', 'Fail', 'Skip']),
    }),
  ),
  unsetPropertyAction: optional.of(
    model('AlterTransactionUnsetProperty', { key, mode: modeMember(['Skip', 'Fail']) }),
  ),
}).meta({ id: 'AlterTransactionAction' })

const transaction = { status, properties: maybe.properties }

/** Versions of tables, alone and in batches, and transactions. */
export const versionSchemas = {
  ...ofTable,
  BatchCreateTableVersions: changeSchemas(
    { entries: z.array(newVersion).min(1).max(maxBatchSize) },
    { versions: z.array(tableVersion) },
  ),
  BatchCommitTables: changeSchemas(
    { operations: z.array(change).min(1).max(maxBatchSize) },
    { results: z.array(result) },
  ),
  DescribeTransaction: schemas({}, transaction),
  AlterTransaction: schemas({ actions: z.array(action).min(1).max(1000) }, transaction),
}
