import { z } from 'zod'
import { int64, optional, pageSchemas, pagingMembers, requestSchema, schemas } from './members.ts'

/** `system`, or a kind, a database and an id: `table:db:ns$t`. */
const object = z.string().min(1)
/** A kind and a name: `p:` and `P:` for a principal, `g:` and `G:` for a group, `r:` for a role, `a:` for an API key. */
const subject = z.string().min(1)
const privilege = z.string().min(1)
const role = z.string().min(1)
const grant = { object, subject, privilege }
const roleBinding = { subject, role }
const namedSubject = { subject_id: subject, subject_name: z.string().optional() }

const paging = { continuation_token: optional.text, max_results: optional.count }
const page = { continuation_token: z.string().optional() }

const identities = z.array(
  z.object({ id: z.string(), name: z.string().optional() }).meta({ id: 'NamedIdentity' }),
)
const roles = z.array(role)

export const grantSchemas = {
  ListGrants: schemas(
    { object: optional.of(object), subject: optional.of(subject), ...paging },
    { entries: z.array(z.object({ object, ...namedSubject, privilege }).meta({ id: 'Grant' })), ...page },
  ),
  AddGrant: schemas(grant, {}),
  DeleteGrant: schemas(grant, {}),
  ListRoleBindings: schemas(
    { subject: optional.of(subject), role: optional.of(role), ...paging },
    { bindings: z.array(z.object({ ...namedSubject, role }).meta({ id: 'RoleBinding' })), ...page },
  ),
  AddRoleBinding: schemas(roleBinding, {}),
  DeleteRoleBinding: schemas(roleBinding, {}),
  DescribePrincipal: schemas(
    { principal: subject },
    { principal_id: z.string(), principal_name: z.string().optional(), groups: identities, roles },
  ),
  DescribeGroup: schemas(
    { group: subject },
    { group_id: z.string(), group_name: z.string().optional(), principals: identities, roles },
  ),
}

const jobId = z.string().min(1)
const flag = z.boolean().optional()

/** Specifications and results depend on the type of the job. */
const jobData = z.record(z.string(), z.unknown())

const jobSummary = z
  .object({
    job_id: jobId,
    table: z.string().optional(),
    job_type: z.string().optional(),
    state: z.string(),
    created_at_millis: int64.optional(),
  })
  .meta({ id: 'JobSummary' })

const jobFailure = z
  .object({ phase: z.string().optional(), message: z.string().optional(), retryable: flag })
  .meta({ id: 'JobFailure' })

/** A row that a function failed for. Without `row_offset`, only its fragment is known. */
const functionError = z
  .object({
    job_id: jobId,
    fragment_id: int64,
    row_offset: int64.nullish(),
    column: z.string(),
    function: z.string(),
    function_version: z.string(),
    table_version: int64,
    error_type: z.string(),
    error_message: z.string(),
    created_at_millis: int64,
  })
  .meta({ id: 'FunctionError' })

/** A fragment of which not every failed row has a record. */
const functionErrorFragment = z
  .object({ job_id: jobId, fragment_id: int64, rows_skipped: int64, rows_recorded: int64 })
  .meta({ id: 'FunctionErrorFragment' })

/** States that clients know: IN_PROGRESS, DONE, FAILED, TIMED_OUT and CANCELLED. */
export const jobSchemas = {
  ListJobs: pageSchemas(pagingMembers, { jobs: z.array(jobSummary) }),
  DescribeJob: schemas(
    { job_id: jobId },
    {
      job_id: jobId.optional(),
      job_type: z.string().optional(),
      job_state: z.string(),
      creation_ms: int64.optional(),
      spec: jobData.optional(),
      result: jobData.optional(),
      failure: jobFailure.optional(),
    },
  ),
  CancelJob: schemas({ job_id: jobId }, {}),
  /** Neither flag is set if the job was already paused; `committing` if it cannot pause now. */
  PauseJob: schemas({ job_id: jobId }, { job_id: jobId.optional(), paused: flag, committing: flag }),
  /** Neither flag is set if the job was not paused; `still_pausing` if its pause has not begun. */
  ResumeJob: schemas({ job_id: jobId }, { job_id: jobId.optional(), resumed: flag, still_pausing: flag }),
  /** `records` are those of the newest job first; `truncated` says whether the limit cut them. */
  ListFunctionErrors: schemas(
    { job_id: optional.of(jobId), column: optional.text, limit: optional.count, branch: optional.text },
    {
      records: z.array(functionError),
      fragments: z.array(functionErrorFragment).optional(),
      truncated: flag,
    },
  ),
  /** `filter` is a SQL expression on the columns of the events. Without `job_id`, events of all jobs are returned. */
  QueryJobEvents: {
    request: requestSchema({ job_id: optional.of(jobId), limit: optional.count, filter: optional.text }),
  },
}
