import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import type { RefusalEntry } from '../../../src/audit/records/audit-record.ts'
import { AuthenticationError } from '../../../src/identity/index.ts'
import { createRefusalRecorder } from '../../../src/gateway/observability/refusal-recorder.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

it('counts repeated refusals of an address without keeping the refused requests', async () => {
  const recorded: RefusalEntry[] = []
  const recorder = createRefusalRecorder({ recordRefusal: (entry) => void recorded.push(entry) })
  const progresses = ['2001:db8::1', '2001:db8::2', '192.0.2.1'].map((client, index) => {
    const progress = { body: Buffer.alloc(1_000) } as object
    const request = { requestId: String(index), method: 'GET', client, peer: undefined, progress }
    recorder.record(
      { ...request, policyRevision: 'r', passThrough: undefined },
      new AuthenticationError('missing_credential'),
    )
    return new WeakRef(progress)
  })
  // A turn of the event loop ends the job in which a WeakRef holds its target.
  await setTimeout(1)
  collectGarbage()
  expect(progresses.map((progress) => progress.deref())).toEqual([undefined, undefined, undefined])
  recorder.close()
  expect(recorded.map(({ request, client, details }) => [request, client, details?.['repeats']])).toEqual([
    ['0', '2001:db8::1', undefined],
    ['2', '192.0.2.1', undefined],
    ['0', '2001:db8::1', 1],
  ])
})
