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
  /** `filter` is a SQL expression on the columns of the events. Without `job_id`, events of all jobs are returned. */
  QueryJobEvents: {
    request: requestSchema({
      job_id: optionalMember(jobId),
      limit: optionalMember(int64),
      filter: optionalMember(z.string()),
    }),
  },
}
