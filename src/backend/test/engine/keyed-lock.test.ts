import { setImmediate } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createDeferred } from '../../../../test/gateway/support/waiting.ts'
import { KeyedLock } from '../../engine/keyed-lock.ts'

it('runs work of one key in sequence, also after a failure, and does not block other keys', async () => {
  const lock = new KeyedLock()
  const events: string[] = []
  const work =
    (name: string, fails = false) =>
    async () => {
      events.push(`${name} begins`)
      await setImmediate()
      events.push(`${name} ends`)
      if (fails) throw new Error(name)
      return name
    }
  const results = await Promise.allSettled([
    lock.runExclusive('a', work('one', true)),
    lock.runExclusive('a', work('two')),
    lock.runExclusive('b', work('other')),
    lock.runExclusive('a', work('three')),
  ])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled'])
  expect(events.filter((event) => !event.startsWith('other'))).toEqual(
    ['one', 'two', 'three'].flatMap((name) => [`${name} begins`, `${name} ends`]),
  )
  expect(events.indexOf('other begins')).toBeLessThan(events.indexOf('one ends'))
})

it('runs shared work concurrently, but not with exclusive work', async () => {
  const lock = new KeyedLock()
  let sharing = 0
  let most = 0
  let isAlone = false
  const shared = async () => {
    expect(isAlone).toBe(false)
    sharing += 1
    most = Math.max(most, sharing)
    await setImmediate()
    sharing -= 1
  }
  const alone = async () => {
    expect([sharing, isAlone]).toEqual([0, false])
    isAlone = true
    await setImmediate()
    isAlone = false
  }
  await Promise.all([
    lock.runShared('a', shared),
    lock.runShared('a', shared),
    lock.runExclusive('a', alone),
    lock.runShared('a', shared),
    lock.runExclusive('a', alone),
    lock.runExclusive('a', alone),
  ])
  expect(most).toBe(2)
})

it('runs at most two tasks of shared work at a time, in order, also after a failure', async () => {
  const lock = new KeyedLock(2)
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
  }
  const tasks = [0, 1, 2, 3, 4].map((number) => lock.runShared('a', task(number)))
  const results = await Promise.allSettled(tasks)
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1)
  expect(begun).toEqual([0, 1, 2, 3, 4])
  expect(most).toBe(2)
})

it('work that waits too long is not done, and holds up nothing behind it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const lock = new KeyedLock()
  const long = createDeferred()
  const running = lock.runShared('a', async () => long.promise)
  const late = lock.runExclusive('a', async () => 'done').catch((error: unknown) => error)
  vi.advanceTimersByTime(60_000)
  expect(await late).toMatchObject({ kind: 'ServiceUnavailable', headers: { 'retry-after': '5' } })
  expect(await lock.runShared('a', async () => 'shared')).toBe('shared')
  long.resolve(undefined)
  await running
  expect(await lock.runExclusive('a', async () => 'alone')).toBe('alone')
})
