import { expect, it } from 'vitest'
import { runInSlices, type Steps } from '../../../src/lib/async/run-in-slices.ts'

/** Work of that many milliseconds. */
function* work(ms: number): Steps<void> {
  for (let done = 0; done < ms; done += 1) {
    const end = performance.now() + 1
    while (performance.now() < end);
    yield
  }
}

it('serves each holder in turn, and the work of one holder in order', async () => {
  const finished: string[] = []
  const start = (name: string, ms: number, holder: string): Promise<unknown> =>
    runInSlices(work(ms), { holder }).then(() => finished.push(name))
  await Promise.all([
    start('first of one', 40, 'one'),
    start('second of one', 40, 'one'),
    start('third of one', 40, 'one'),
    start('only of two', 12, 'two'),
  ])
  expect(finished).toEqual(['only of two', 'first of one', 'second of one', 'third of one'])
})

it('lets a holder with much work run once before other events', async () => {
  const finished: string[] = []
  const small = Array.from({ length: 40 }, () =>
    runInSlices(work(2), { holder: 'one' }).then(() => finished.push('work')),
  )
  const event = new Promise((resolve) => setImmediate(resolve)).then(() => finished.push('event'))
  await Promise.all([...small, event])
  expect(finished.indexOf('event')).toBeLessThan(10)
})

it('does not pause short work', async () => {
  let isOver = false
  void runInSlices(work(0), { holder: 'one' }).then(() => (isOver = true))
  await Promise.resolve()
  await Promise.resolve()
  expect(isOver).toBe(true)
})

it('discards paused work', async () => {
  const aborted = new AbortController()
  const reason = new Error('not needed any more')
  let steps = 0
  function* counted(): Steps<void> {
    for (;;) {
      steps += 1
      yield* work(1)
    }
  }
  const [first, second] = [1, 2].map(() => runInSlices(counted(), { holder: 'one', signal: aborted.signal }))
  aborted.abort(reason)
  await expect(first).rejects.toBe(reason)
  await expect(second).rejects.toBe(reason)
  const before = steps
  await runInSlices(work(20), { holder: 'one' })
  expect(steps).toBe(before)
})

function* failing(): Steps<void> {
  yield* work(8)
  throw new Error('out of luck')
}

it('rejects with the error of a step', async () => {
  await expect(runInSlices(failing())).rejects.toThrow('out of luck')
})
