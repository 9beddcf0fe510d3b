import { z } from 'zod'
import {
  branch,
  every,
  int64,
  maybe,
  model,
  optional,
  pageSchemas,
  requestSchema,
  schemas,
} from './members.ts'

const name = z.string().min(1)
/** `object`: `system`, or a kind, a database and an id: `table:db:ns$t`. */
const object = name
/** A kind and a name: `p:` and `P:` for a principal, `g:` and `G:` for a group, `r:` for a role, `a:` for an API key. */
const subject = name
const grant = { object, subject, privilege: name }
const roleBinding = { subject, role: name }
const namedSubject = { subject_id: subject, subject_name: maybe.text }

const paging = { continuation_token: optional.text, max_results: optional.count }
const page = { continuation_token: maybe.text }

const identities = z.array(model('NamedIdentity', { id: z.string(), name: maybe.text }))
const roles = z.array(name)

export const grantSchemas = {
  ListGrants: schemas(
    { ...every(optional.of(name), 'object', 'subject'), ...paging },
    { entries: z.array(model('Grant', { object, ...namedSubject, privilege: name })), ...page },
  ),
  AddGrant: schemas(grant, {}),
  DeleteGrant: schemas(grant, {}),
  ListRoleBindings: schemas(
    { ...every(optional.of(name), 'subject', 'role'), ...paging },
    { bindings: z.array(model('RoleBinding', { ...namedSubject, role: name })), ...page },
  ),
  AddRoleBinding: schemas(roleBinding, {}),
  DeleteRoleBinding: schemas(roleBinding, {}),
  DescribePrincipal: schemas(
    { principal: subject },
    { principal_id: z.string(), principal_name: maybe.text, groups: identities, roles },
  ),
  DescribeGroup: schemas(
    { group: subject },
    { group_id: z.string(), group_name: maybe.text, principals: identities, roles },
  ),
}

const job_id = name

/** Specifications and results depend on the type of the job. */
const jobData = z.record(z.string(), z.unknown()).optional()

const jobSummary = model('JobSummary', {
  job_id,
  ...every(maybe.text, 'table', 'job_type'),
  state: z.string(),
  created_at_millis: maybe.count,
})

const jobFailure = model('JobFailure', { ...every(maybe.text, 'phase', 'message'), retryable: maybe.flag })

/** A row that a function failed for. Without `row_offset`, only its fragment is known. */
const functionError = model('FunctionError', {
  job_id,
  ...every(int64, 'fragment_id', 'table_version', 'created_at_millis'),
  ...every(z.string(), 'column', 'function', 'function_version', 'error_type', 'error_message'),
  row_offset: int64.nullish(),
})

/** A fragment of which not every failed row has a record. */
const functionErrorFragment = model('FunctionErrorFragment', {
  job_id,
  ...every(int64, 'fragment_id', 'rows_skipped', 'rows_recorded'),
})

/** States that clients know: IN_PROGRESS, DONE, FAILED, TIMED_OUT and CANCELLED. */
export const jobSchemas = {
  ListJobs: pageSchemas({}, { jobs: z.array(jobSummary) }),
  DescribeJob: schemas(
    { job_id },
    {
      job_id: job_id.optional(),
      job_type: maybe.text,
      job_state: z.string(),
      creation_ms: maybe.count,
      ...every(jobData, 'spec', 'result'),
      failure: jobFailure.optional(),
    },
  ),
  CancelJob: schemas({ job_id }, {}),
  /** Neither flag is set if the job was already paused; `committing` if it cannot pause now. */
  PauseJob: schemas({ job_id }, { job_id: job_id.optional(), ...every(maybe.flag, 'paused', 'committing') }),
  /** Neither flag is set if the job was not paused; `still_pausing` if its pause has not begun. */
  ResumeJob: schemas(
    { job_id },
    { job_id: job_id.optional(), ...every(maybe.flag, 'resumed', 'still_pausing') },
  ),
  /** `records` are those of the newest job first; `truncated` says whether the limit cut them. */
  ListFunctionErrors: schemas(
    { job_id: optional.of(job_id), column: optional.text, limit: optional.count, branch },
    {
      records: z.array(functionError),
      fragments: z.array(functionErrorFragment).optional(),
      truncated: maybe.flag,
    },
  ),
  /** `filter` is a SQL expression on the columns of the events. Without `job_id`, events of all jobs are returned. */
  QueryJobEvents: {
    request: requestSchema({ job_id: optional.of(job_id), limit: optional.count, filter: optional.text }),
  },
}
