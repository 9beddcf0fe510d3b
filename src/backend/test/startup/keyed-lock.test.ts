import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { KeyedLock } from '../../catalog/locks/keyed-lock.ts'

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
