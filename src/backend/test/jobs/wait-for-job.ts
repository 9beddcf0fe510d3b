import { expect, vi } from 'vitest'
import type { Response } from '../support/running-backend.ts'

interface DescribedJob {
  readonly job_state: string
  readonly result?: Readonly<Record<string, unknown>>
  readonly failure?: { readonly message: string; readonly retryable: boolean }
}

type Post = (target: string, body?: unknown) => Promise<Response>

/**
 * Waits until the job of a response with its id has ended, for longer than it takes a replica to notice the job of one
 * that was killed.
 */
export async function waitForJob(post: Post, started: Response): Promise<DescribedJob> {
  const { job_id } = started.json as { job_id: string }
  return await vi.waitFor(
    async () => {
      const job = (await post('/v1/jobs/describe', { job_id })).json as DescribedJob
      expect(job.job_state).not.toBe('IN_PROGRESS')
      return job
    },
    { timeout: 50_000, interval: 20 },
  )
}
