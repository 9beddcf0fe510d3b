import { z } from 'zod'
import { operations } from 'catalog-gateway/catalog-api'
import { jsonArrowSchema } from './json-arrow-schema.ts'
import {
  branch,
  changeSchemas,
  every,
  flagMember,
  flagWithDefault,
  identifierSchema,
  int64,
  maybe,
  modeMember,
  model,
  optional,
  pageSchemas,
  propertiesSchema,
  propertiesTextSchema,
  requestSchema,
  schemas,
} from './members.ts'

const { text: location, properties } = maybe
/** Storage access, possibly with credentials that expire at `expires_at_millis`. */
const storage_options = propertiesSchema.readonly().optional()
const removedTable = { id: maybe.id, location, properties }

/** Members of ListTables and ListAllTables. */
const listTables = pageSchemas({ include_declared: flagWithDefault(true) }, { tables: z.array(z.string()) })

export const namespaceSchemas = {
  CreateNamespace: changeSchemas(
    { mode: modeMember(operations.CreateNamespace.modes), properties: optional.properties },
    { properties },
  ),
  ListNamespaces: pageSchemas({}, { namespaces: z.array(z.string()) }),
  DescribeNamespace: schemas({}, { properties }),
  NamespaceExists: { request: requestSchema({}) },
  DropNamespace: schemas(
    {
      mode: modeMember(operations.DropNamespace.modes),
      behavior: modeMember(operations.DropNamespace.behaviors),
    },
    { properties, transaction_id: maybe.texts },
  ),
  ListTables: listTables,
  ListAllTables: listTables,
}

/** The members of CreateTable are query parameters or headers: its body is an Arrow stream. */
export const tableSchemas = {
  CreateTable: changeSchemas(
    {
      mode: modeMember(operations.CreateTable.modes),
      location: optional.text,
      ...every(optional.of(propertiesTextSchema), 'properties', 'storage_options'),
    },
    { location, version: maybe.count, properties, storage_options },
  ),
  DeclareTable: changeSchemas(
    { location: optional.text, vend_credentials: optional.flag, properties: optional.properties },
    { location, properties, managed_versioning: maybe.flag, storage_options },
    'DeclareTableResponse',
  ),
  DescribeTable: schemas(
    {
      version: optional.count,
      tag: optional.text,
      branch,
      ...every(flagMember, 'with_table_uri', 'load_detailed_metadata', 'check_declared'),
      vend_credentials: optional.flag,
    },
    {
      ...every(maybe.text, 'table', 'location', 'table_uri'),
      namespace: maybe.id,
      version: maybe.count,
      schema: jsonArrowSchema.optional(),
      stats: model('TableBasicStats', every(int64, 'num_deleted_rows', 'num_fragments')).optional(),
      metadata: propertiesSchema.readonly().optional(),
      properties,
      ...every(maybe.flag, 'managed_versioning', 'is_only_declared'),
      storage_options,
    },
  ),
  TableExists: { request: requestSchema({ version: optional.count }) },
  DropTable: changeSchemas({}, { ...removedTable, job_id: maybe.text }),
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
  DeregisterTable: changeSchemas({}, removedTable, 'DeregisterTableResponse'),
  /** `new_namespace` is the name in the remote client of LanceDB. */
  RenameTable: changeSchemas(
    {
      new_table_name: z.string(),
      ...every(optional.of(identifierSchema), 'new_namespace_id', 'new_namespace'),
    },
    {},
  ),
}

const lengths = model('FragmentSummary', every(int64, 'min', 'max', 'mean', 'p25', 'p50', 'p75', 'p99'))

const fragmentStats = model('FragmentStats', {
  ...every(int64, 'num_fragments', 'num_small_fragments'),
  lengths,
})

/** `metadata` is the whole body of UpdateTableSchemaMetadata; null removes a key. Its response is the bare map. */
export const tableMetadataSchemas = {
  GetTableStats: schemas(
    { branch },
    { ...every(int64, 'total_bytes', 'num_rows', 'num_indices'), fragment_stats: fragmentStats },
  ),
  UpdateTableSchemaMetadata: {
    request: requestSchema({ branch, metadata: z.record(z.string(), z.string().nullable()) }),
    response: propertiesSchema,
  },
  PrewarmTableData: schemas(
    { columns: optional.texts.describe('All columns if it is absent or empty.') },
    {},
  ),
}
