import { z } from 'zod'
import {
  flagMember,
  identifierSchema,
  int64,
  optionalMember,
  propertiesSchema,
  propertiesTextSchema,
  requestSchema,
  changeResponseSchema,
  responseSchema,
} from './members.ts'
import { operations } from '../operations.ts'
import { jsonArrowSchema } from './json-arrow-schema.ts'
import { modeMember } from './modes.ts'

const basicStats = z.object({ num_deleted_rows: int64, num_fragments: int64 }).meta({ id: 'TableBasicStats' })

/** Storage access, possibly with credentials that expire at `expires_at_millis`. */
const storageOptions = propertiesSchema.readonly().optional()

const removedTable = changeResponseSchema({
  id: identifierSchema.readonly().optional(),
  location: z.string().optional(),
  properties: propertiesSchema.optional(),
})

/** The members of CreateTable are query parameters or headers: its body is an Arrow stream. */
export const tableSchemas = {
  CreateTable: {
    request: requestSchema({
      mode: modeMember(operations.CreateTable.modes),
      location: optionalMember(z.string()),
      properties: optionalMember(propertiesTextSchema),
      storage_options: optionalMember(propertiesTextSchema),
    }),
    response: changeResponseSchema({
      location: z.string().optional(),
      version: int64.optional(),
      properties: propertiesSchema.optional(),
      storage_options: storageOptions,
    }),
  },
  DeclareTable: {
    request: requestSchema({
      location: optionalMember(z.string()),
      vend_credentials: optionalMember(z.boolean()),
      properties: optionalMember(propertiesSchema),
    }),
    response: changeResponseSchema({
      location: z.string().optional(),
      properties: propertiesSchema.optional(),
      managed_versioning: z.boolean().optional(),
      storage_options: storageOptions,
    }).meta({ id: 'DeclareTableResponse' }),
  },
  DescribeTable: {
    request: requestSchema({
      version: optionalMember(int64),
      tag: optionalMember(z.string()),
      branch: optionalMember(z.string()),
      with_table_uri: flagMember,
      load_detailed_metadata: flagMember,
      check_declared: flagMember,
      vend_credentials: optionalMember(z.boolean()),
    }),
    response: responseSchema({
      table: z.string().optional(),
      namespace: identifierSchema.readonly().optional(),
      location: z.string().optional(),
      table_uri: z.string().optional(),
      version: int64.optional(),
      schema: jsonArrowSchema.optional(),
      stats: basicStats.optional(),
      metadata: propertiesSchema.readonly().optional(),
      properties: propertiesSchema.optional(),
      managed_versioning: z.boolean().optional(),
      storage_options: storageOptions,
      is_only_declared: z.boolean().optional(),
    }),
  },
  TableExists: { request: requestSchema({ version: optionalMember(int64) }) },
  DropTable: {
    request: requestSchema({}),
    response: removedTable.extend({ job_id: z.string().optional() }),
  },
  RegisterTable: {
    request: requestSchema({
      location: z.string(),
      mode: modeMember(operations.RegisterTable.modes),
      properties: optionalMember(propertiesSchema),
    }),
    response: changeResponseSchema({
      location: z.string().optional(),
      properties: propertiesSchema.optional(),
    }),
  },
  /** The version and the tag are those of the source; clients always send `is_shallow`. */
  CloneTable: {
    request: requestSchema({
      source_location: z.string().min(1),
      source_version: optionalMember(int64),
      source_tag: optionalMember(z.string()),
      is_shallow: flagMember,
    }),
    response: changeResponseSchema({}),
  },
  DeregisterTable: {
    request: requestSchema({}),
    response: removedTable.meta({ id: 'DeregisterTableResponse' }),
  },
  RenameTable: {
    request: requestSchema({
      new_table_name: z.string(),
      new_namespace_id: optionalMember(identifierSchema),
      /** Its name in the remote client of LanceDB. */
      new_namespace: optionalMember(identifierSchema),
    }),
    response: changeResponseSchema({}),
  },
}

const lengths = z
  .object({ min: int64, max: int64, mean: int64, p25: int64, p50: int64, p75: int64, p99: int64 })
  .meta({ id: 'FragmentSummary' })

const fragmentStats = z
  .object({ num_fragments: int64, num_small_fragments: int64, lengths })
  .meta({ id: 'FragmentStats' })

/** `metadata` is the whole body of UpdateTableSchemaMetadata; null removes a key. Its response is the bare map. */
export const tableMetadataSchemas = {
  GetTableStats: {
    request: requestSchema({ branch: optionalMember(z.string()) }),
    response: responseSchema({
      total_bytes: int64,
      num_rows: int64,
      num_indices: int64,
      fragment_stats: fragmentStats,
    }),
  },
  UpdateTableSchemaMetadata: {
    request: requestSchema({
      branch: optionalMember(z.string()),
      metadata: z.record(z.string(), z.string().nullable()),
    }),
    response: propertiesSchema,
  },
  PrewarmTableData: {
    request: requestSchema({
      columns: optionalMember(z.array(z.string())).describe('All columns if it is absent or empty.'),
    }),
    response: responseSchema({}),
  },
}
