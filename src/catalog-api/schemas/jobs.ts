import { z } from 'zod'
import { int64, optionalMember, pagingMembers, requestSchema, responseSchema } from './members.ts'

const jobId = z.string().min(1)

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
  .object({
    phase: z.string().optional(),
    message: z.string().optional(),
    retryable: z.boolean().optional(),
  })
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
  ListJobs: {
    request: requestSchema(pagingMembers),
    response: responseSchema({ jobs: z.array(jobSummary), page_token: z.string().optional() }),
  },
  DescribeJob: {
    request: requestSchema({ job_id: jobId }),
    response: responseSchema({
      job_id: jobId.optional(),
      job_type: z.string().optional(),
      job_state: z.string(),
      creation_ms: int64.optional(),
      spec: jobData.optional(),
      result: jobData.optional(),
      failure: jobFailure.optional(),
    }),
  },
  CancelJob: { request: requestSchema({ job_id: jobId }), response: responseSchema({}) },
  /** Neither flag is set if the job was already paused; `committing` if it cannot pause now. */
  PauseJob: {
    request: requestSchema({ job_id: jobId }),
    response: responseSchema({
      job_id: jobId.optional(),
      paused: z.boolean().optional(),
      committing: z.boolean().optional(),
    }),
  },
  /** Neither flag is set if the job was not paused; `still_pausing` if its pause has not begun. */
  ResumeJob: {
    request: requestSchema({ job_id: jobId }),
    response: responseSchema({
      job_id: jobId.optional(),
      resumed: z.boolean().optional(),
      still_pausing: z.boolean().optional(),
    }),
  },
  /** `records` are those of the newest job first; `truncated` says whether the limit cut them. */
  ListFunctionErrors: {
    request: requestSchema({
      job_id: optionalMember(jobId),
      column: optionalMember(z.string()),
      limit: optionalMember(int64),
      branch: optionalMember(z.string()),
    }),
    response: responseSchema({
      records: z.array(functionError),
      fragments: z.array(functionErrorFragment).optional(),
      truncated: z.boolean().optional(),
    }),
  },
  /** `filter` is a SQL expression on the columns of the events. Without `job_id`, events of all jobs are returned. */
  QueryJobEvents: {
    request: requestSchema({
      job_id: optionalMember(jobId),
      limit: optionalMember(int64),
      filter: optionalMember(z.string()),
    }),
  },
}
