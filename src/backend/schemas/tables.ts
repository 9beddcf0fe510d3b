import { z } from 'zod'
import { operations } from 'catalog-gateway/catalog-api'
import { jsonArrowSchema } from './json-arrow-schema.ts'
import {
  changeResponseSchema,
  changeSchemas,
  flagMember,
  identifierSchema,
  int64,
  modeMember,
  optional,
  propertiesSchema,
  propertiesTextSchema,
  requestSchema,
  schemas,
} from './members.ts'

const basicStats = z.object({ num_deleted_rows: int64, num_fragments: int64 }).meta({ id: 'TableBasicStats' })

const location = z.string().optional()
const properties = propertiesSchema.optional()
/** Storage access, possibly with credentials that expire at `expires_at_millis`. */
const storageOptions = propertiesSchema.readonly().optional()

const removedTable = changeResponseSchema({
  id: identifierSchema.readonly().optional(),
  location,
  properties,
})

/** The members of CreateTable are query parameters or headers: its body is an Arrow stream. */
export const tableSchemas = {
  CreateTable: changeSchemas(
    {
      mode: modeMember(operations.CreateTable.modes),
      location: optional.text,
      properties: optional.of(propertiesTextSchema),
      storage_options: optional.of(propertiesTextSchema),
    },
    { location, version: int64.optional(), properties, storage_options: storageOptions },
  ),
  DeclareTable: {
    request: requestSchema({
      location: optional.text,
      vend_credentials: optional.flag,
      properties: optional.properties,
    }),
    response: changeResponseSchema({
      location,
      properties,
      managed_versioning: z.boolean().optional(),
      storage_options: storageOptions,
    }).meta({ id: 'DeclareTableResponse' }),
  },
  DescribeTable: schemas(
    {
      version: optional.count,
      tag: optional.text,
      branch: optional.text,
      with_table_uri: flagMember,
      load_detailed_metadata: flagMember,
      check_declared: flagMember,
      vend_credentials: optional.flag,
    },
    {
      table: z.string().optional(),
      namespace: identifierSchema.readonly().optional(),
      location,
      table_uri: z.string().optional(),
      version: int64.optional(),
      schema: jsonArrowSchema.optional(),
      stats: basicStats.optional(),
      metadata: propertiesSchema.readonly().optional(),
      properties,
      managed_versioning: z.boolean().optional(),
      storage_options: storageOptions,
      is_only_declared: z.boolean().optional(),
    },
  ),
  TableExists: { request: requestSchema({ version: optional.count }) },
  DropTable: {
    request: requestSchema({}),
    response: removedTable.extend({ job_id: z.string().optional() }),
  },
  RegisterTable: changeSchemas(
    {
      location: z.string(),
      mode: modeMember(operations.RegisterTable.modes),
      properties: optional.properties,
    },
    { location, properties },
  ),
  /** The version and the tag are those of the source; clients always send `is_shallow`. */
  CloneTable: changeSchemas(
    {
      source_location: z.string().min(1),
      source_version: optional.count,
      source_tag: optional.text,
      is_shallow: flagMember,
    },
    {},
  ),
  DeregisterTable: {
    request: requestSchema({}),
    response: removedTable.meta({ id: 'DeregisterTableResponse' }),
  },
  /** `new_namespace` is the name in the remote client of LanceDB. */
  RenameTable: changeSchemas(
    {
      new_table_name: z.string(),
      new_namespace_id: optional.of(identifierSchema),
      new_namespace: optional.of(identifierSchema),
    },
    {},
  ),
}

const lengths = z
  .object({ min: int64, max: int64, mean: int64, p25: int64, p50: int64, p75: int64, p99: int64 })
  .meta({ id: 'FragmentSummary' })

const fragmentStats = z
  .object({ num_fragments: int64, num_small_fragments: int64, lengths })
  .meta({ id: 'FragmentStats' })

/** `metadata` is the whole body of UpdateTableSchemaMetadata; null removes a key. Its response is the bare map. */
export const tableMetadataSchemas = {
  GetTableStats: schemas(
    { branch: optional.text },
    { total_bytes: int64, num_rows: int64, num_indices: int64, fragment_stats: fragmentStats },
  ),
  UpdateTableSchemaMetadata: {
    request: requestSchema({
      branch: optional.text,
      metadata: z.record(z.string(), z.string().nullable()),
    }),
    response: propertiesSchema,
  },
  PrewarmTableData: schemas(
    { columns: optional.texts.describe('All columns if it is absent or empty.') },
    {},
  ),
}
