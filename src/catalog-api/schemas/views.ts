import { z } from 'zod'
import { getMembers } from '../../lib/json/is-object.ts'
import {
  identifierSchema,
  int64,
  optionalMember,
  pagingMembers,
  requestSchema,
  responseSchema,
} from './members.ts'
import { jsonArrowSchema } from './json-arrow-schema.ts'

const query = z.string().min(1)
const count = optionalMember(int64)
const text = optionalMember(z.string())

/** A function that computes the rows of a materialized view. */
const viewFunction = z
  .object({
    kind: z.enum(['udtf', 'chunker']),
    udtf: z.string().describe('A JSON envelope in base64.'),
    udtf_sha: z.string(),
    udtf_name: z.string(),
    udtf_version: z.string(),
    input_columns: optionalMember(z.array(z.string())),
    partition_by: text,
    partition_by_indexed_column: text,
    num_cpus: optionalMember(z.number()),
    num_gpus: optionalMember(z.number()),
    memory: count,
    error_handling: optionalMember(z.record(z.string(), z.unknown())),
    batch: optionalMember(z.boolean()),
    manifest: text,
    manifest_checksum: text,
  })
  .meta({ id: 'MaterializedViewUdtfEntry' })

/** Without data, the view is only declared. */
const withNoData = optionalMember(z.boolean()).transform((value) => value ?? true)

const declaredForm = requestSchema({
  kind: z.enum(['query', 'udtf', 'chunker']),
  source_query: query,
  output_schema: z.string().describe('An Arrow schema in base64.'),
  udtf_spec: optionalMember(viewFunction),
  with_no_data: withNoData,
  auto_refresh: optionalMember(z.boolean()),
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

const view = responseSchema({
  name: z.string(),
  namespace: identifierSchema.readonly().optional(),
  query: z.string(),
  default_database: z.string(),
  default_namespace: identifierSchema.readonly().optional(),
  schema: jsonArrowSchema,
})

/** Names directly in a namespace. */
const names = {
  request: requestSchema(pagingMembers),
  response: responseSchema({ views: z.array(z.string()), page_token: z.string().optional() }),
}

/** If a job continues a drop, or fills a new view, the response contains its id. */
const jobId = z.string().optional()

export const viewSchemas = {
  CreateMaterializedView: {
    request: newMaterializedView,
    response: responseSchema({ version: int64.optional(), job_id: jobId }),
  },
  RefreshMaterializedView: {
    request: requestSchema({
      src_version: count,
      max_rows_per_fragment: count,
      concurrency: count,
      intra_applier_concurrency: count,
      source_task_size: count,
      output_limit: count,
      cluster: text,
      manifest: text,
      full: optionalMember(z.boolean()),
      source_version: count,
      expected_incarnation: text,
    }),
    response: responseSchema({ job_id: z.string(), version: int64.optional() }),
  },
  /** Without `query`, the definition consists of the other members. */
  DescribeMaterializedView: {
    request: requestSchema({}),
    response: responseSchema({
      query: z.string().optional(),
      source_table: z.string(),
      source_namespace: identifierSchema.readonly().optional(),
      projections: z.array(projection).optional(),
      filter: z.string().optional(),
      limit: int64.optional(),
      incarnation: z.string().optional(),
    }),
  },
  DropMaterializedView: { request: requestSchema({}), response: responseSchema({ job_id: jobId }) },
  ListMaterializedViews: names,
  CreateView: { request: requestSchema({ query }), response: view },
  DescribeView: { request: requestSchema({}), response: view },
  DropView: { request: requestSchema({}), response: responseSchema({ job_id: jobId }) },
  ListViews: names,
}
