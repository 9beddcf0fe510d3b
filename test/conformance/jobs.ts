import { ok as assert } from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import type { Fixture } from './fixture.ts'

const timeoutMs = 60_000
const pollMs = 100

/** Waits until a job has ended. Returns its state. */
export async function waitForJob({ ok }: Fixture, jobId: unknown): Promise<unknown> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const { job_state: state } = await ok('DescribeJob', [], { body: { job_id: jobId } })
    if (state !== 'IN_PROGRESS') return state
    assert(Date.now() < deadline, `the job has not ended within ${timeoutMs} ms`)
    await setTimeout(pollMs)
  }
}
