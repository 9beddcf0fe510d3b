import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { ConcurrencyLimit } from '../../engine/native/concurrency-limit.ts'

it('runs at most two tasks of one key at a time, in order, also after a failure', async () => {
  const limit = new ConcurrencyLimit(2)
  const begun: number[] = []
  let active = 0
  let most = 0
  const task = (number: number) => async () => {
    begun.push(number)
    active += 1
    most = Math.max(most, active)
    await setImmediate()
    active -= 1
    if (number === 1) throw new Error('the task failed')
    return number
  }
  const run = async (numbers: readonly number[]) =>
    Promise.allSettled(numbers.map((number) => limit.run('a', task(number))))
  const results = await run([0, 1, 2, 3, 4])
  expect(results.map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ])
  await run([5, 6, 7])
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  expect(most).toBe(2)
})

it('does not delay tasks of other keys', async () => {
  const limit = new ConcurrencyLimit(1)
  const ended: string[] = []
  await Promise.all([
    limit.run('a', async () => {
      await setImmediate()
      ended.push('a')
    }),
    limit.run('b', async () => {
      ended.push('b')
    }),
  ])
  expect(ended).toEqual(['b', 'a'])
})
