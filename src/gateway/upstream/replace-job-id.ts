import { transformResponse } from './remove-members.ts'

/**
 * Replaces the member `job_id` of the body of a response. Throws ServiceUnavailable (502) for a body that has the name
 * and is not JSON.
 */
export function replaceJobId(body: Buffer, replace: (jobId: string) => string): Buffer {
  // Almost no response has one.
  if (!body.includes('job_id')) return body
  return transformResponse(body, {
    visitName: (name, depth) => (depth === 1 && name === 'job_id' ? 'value' : 'nothing'),
    visitValue(text) {
      const jobId: unknown = JSON.parse(text)
      return typeof jobId === 'string' && jobId !== '' ? JSON.stringify(replace(jobId)) : undefined
    },
  })
}
