import { expect, it } from 'vitest'
import { readListingPage } from '../../../src/gateway/listing/listing-page.ts'
import { runInSlices } from '../../../src/lib/async/run-in-slices.ts'

it('serves other events while it searches an upstream page for visible names', async () => {
  let iteration = 0
  const count = (): void => {
    iteration += 1
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const names = Array.from({ length: 20 }, (_, index) => `h${index}`)
  const iterations: number[] = []
  const page = await readListingPage(
    [
      {
        name: 'catalog',
        read: () => Promise.resolve({ names, next: undefined }),
        toIdentifier: (name) => [name],
      },
    ],
    {
      limit: 1,
      position: {},
      runInSlices,
      isVisible: () => {
        iterations.push(iteration)
        takeSlice()
        return false
      },
    },
  ).finally(() => clearImmediate(counting))
  expect(page.ids).toEqual([])
  expect(new Set(iterations).size).toBe(names.length)
})

/** Takes all the time that work has in one turn of the event loop. */
function takeSlice(): void {
  const start = performance.now()
  while (performance.now() - start < 6);
}
