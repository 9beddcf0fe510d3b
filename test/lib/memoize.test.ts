import { expect, it } from 'vitest'
import { memoize } from '../../src/lib/collections.ts'

it('finds what it has for the same labels, once', () => {
  let calls = 0
  const find = memoize((...labels: string[]) => ({ labels, call: (calls += 1) }))
  expect([find('a', 'b'), find('a'), find('a', 'b'), find()]).toEqual([
    { labels: ['a', 'b'], call: 1 },
    { labels: ['a'], call: 2 },
    { labels: ['a', 'b'], call: 1 },
    { labels: [], call: 3 },
  ])
})

it('tries again after a failure: a file that could not be read once is read later', async () => {
  let calls = 0
  const read = memoize(async (file: string) => {
    calls += 1
    await Promise.resolve()
    if (calls === 1) throw new Error('too many open files')
    return `${file}, read at attempt ${calls}`
  })
  const together = await Promise.allSettled([read('page'), read('page')])
  expect(together.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(calls).toBe(1)
  expect([await read('page'), await read('page')]).toEqual(Array(2).fill('page, read at attempt 2'))
})
