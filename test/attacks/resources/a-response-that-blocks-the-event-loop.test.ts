import { setImmediate as nextIteration } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { getOperation } from '../../../src/catalog-api/operations.ts'
import { createOutcome } from '../../../src/gateway/changes/outcome.ts'
import { trimDescription } from '../../../src/gateway/restrictions/restricted-response.ts'
import { runInSlices } from '../../../src/lib/index.ts'

// Metadata that a caller has added to a table comes back in responses: 8 MB of it, parsed at once, delayed all callers by 2.5 s
// at each description of a restricted caller, and by 1.2 s at each change of the metadata.
const metadata = Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`k${index}`, 'x']))

/** Turns of the event loop until the work is over. */
async function countIterations(work: Promise<unknown>): Promise<number> {
  const state = { isOver: false, iterations: 0 }
  void work.finally(() => (state.isOver = true))
  for (; !state.isOver; state.iterations += 1) await nextIteration()
  return state.iterations
}

it('a description of a restricted table is cut in slices', async () => {
  const field = { name: 'id', nullable: true, type: { type: 'int64' }, metadata }
  const body = Buffer.from(JSON.stringify({ metadata, version: 7, schema: { fields: [field], metadata } }))
  const trimmed = runInSlices(trimDescription(body, new Map([['id', 'number']])))
  expect(await countIterations(trimmed)).toBeGreaterThan(5)
  expect(JSON.parse(String(await trimmed))).toEqual({
    version: 7,
    schema: { fields: [{ name: 'id', nullable: true, type: { type: 'int64' } }] },
  })
})

it('the version of a change is read in slices', async () => {
  const operation = getOperation('UpdateTableSchemaMetadata')
  const id = ['orders']
  const entry = { operation: operation.name, id, effect: operation.effect }
  const body = Buffer.from(JSON.stringify({ metadata, more: metadata, version: 7 }))
  const request = {
    route: { operation },
    intent: { entry },
    payload: { form: 'none' },
    principal: { name: 'al' },
  }
  const outcome = createOutcome({ status: 200, headers: [], body }, request as never, performance.now())
  expect(await countIterations(outcome)).toBeGreaterThan(5)
  expect(await outcome).toMatchObject({ result: 'committed', version: 7, versions: [{ id, version: 7 }] })
})
