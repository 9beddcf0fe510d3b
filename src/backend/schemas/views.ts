import { z } from 'zod'
import { getMembers } from 'catalog-gateway/lib'
import {
  identifierSchema,
  int64,
  optional,
  pageSchemas,
  pagingMembers,
  requestSchema,
  responseSchema,
  schemas,
} from './members.ts'
import { jsonArrowSchema } from './json-arrow-schema.ts'

const query = z.string().min(1)

/** A function that computes the rows of a materialized view. */
const viewFunction = z
  .object({
    kind: z.enum(['udtf', 'chunker']),
    udtf: z.string().describe('A JSON envelope in base64.'),
    udtf_sha: z.string(),
    udtf_name: z.string(),
    udtf_version: z.string(),
    input_columns: optional.texts,
    partition_by: optional.text,
    partition_by_indexed_column: optional.text,
    num_cpus: optional.of(z.number()),
    num_gpus: optional.of(z.number()),
    memory: optional.count,
    error_handling: optional.of(z.record(z.string(), z.unknown())),
    batch: optional.flag,
    manifest: optional.text,
    manifest_checksum: optional.text,
  })
  .meta({ id: 'MaterializedViewUdtfEntry' })

/** Without data, the view is only declared. */
const withNoData = optional.flag.transform((value) => value ?? true)

const declaredForm = requestSchema({
  kind: z.enum(['query', 'udtf', 'chunker']),
  source_query: query,
  output_schema: z.string().describe('An Arrow schema in base64.'),
  udtf_spec: optional.of(viewFunction),
  with_no_data: withNoData,
  auto_refresh: optional.flag,
})

/** As the remote client of LanceDB sends it. */
const queryForm = requestSchema({ query, with_no_data: withNoData })

const newMaterializedView = z.preprocess(
  (value, context) => {
    const { query, source_query: sourceQuery } = getMembers(value)
    if (query == null || sourceQuery == null) return value
    context.addIssue({ code: 'custom', message: 'expected either source_query or query' })
    return z.NEVER
  },
  z.union([declaredForm, queryForm], 'expected kind, source_query and output_schema, or query'),
)

const projection = z
  .object({ output_column: z.string(), expression: z.string() })
  .meta({ id: 'MaterializedViewProjection' })

const view = {
  name: z.string(),
  namespace: identifierSchema.readonly().optional(),
  query: z.string(),
  default_database: z.string(),
  default_namespace: identifierSchema.readonly().optional(),
  schema: jsonArrowSchema,
}

/** Names directly in a namespace. */
const names = pageSchemas(pagingMembers, { views: z.array(z.string()) })

/** If a job continues a drop, or fills a new view, the response contains its id. */
const jobId = z.string().optional()

export const viewSchemas = {
  CreateMaterializedView: {
    request: newMaterializedView,
    response: responseSchema({ version: int64.optional(), job_id: jobId }),
  },
  RefreshMaterializedView: schemas(
    {
      src_version: optional.count,
      max_rows_per_fragment: optional.count,
      concurrency: optional.count,
      intra_applier_concurrency: optional.count,
      source_task_size: optional.count,
      output_limit: optional.count,
      cluster: optional.text,
      manifest: optional.text,
      full: optional.flag,
      source_version: optional.count,
      expected_incarnation: optional.text,
    },
    { job_id: z.string(), version: int64.optional() },
  ),
  /** Without `query`, the definition consists of the other members. */
  DescribeMaterializedView: schemas(
    {},
    {
      query: z.string().optional(),
      source_table: z.string(),
      source_namespace: identifierSchema.readonly().optional(),
      projections: z.array(projection).optional(),
      filter: z.string().optional(),
      limit: int64.optional(),
      incarnation: z.string().optional(),
    },
  ),
  DropMaterializedView: schemas({}, { job_id: jobId }),
  ListMaterializedViews: names,
  CreateView: schemas({ query }, view),
  DescribeView: schemas({}, view),
  DropView: schemas({}, { job_id: jobId }),
  ListViews: names,
}
