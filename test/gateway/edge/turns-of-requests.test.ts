import { setImmediate as endOfTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { Turns } from '../../../src/gateway/edge/turns.ts'

/** Lets that many requests take their turns; the numbers of those that have begun. */
function takeTurns(turns: Turns, requests: number) {
  const begun: number[] = []
  const begins = Array.from({ length: requests }, (_, number) => () => void begun.push(number))
  for (const begin of begins) turns.take(begin)
  return { begun, begins }
}

it('so many requests begin in a turn of the event loop, in the order in which they came', async () => {
  const { begun } = takeTurns(new Turns(2), 5)
  expect(begun).toEqual([0, 1])
  await endOfTurn()
  expect(begun).toEqual([0, 1, 2, 3])
  await endOfTurn()
  expect(begun).toEqual([0, 1, 2, 3, 4])
})

it('whoever comes while others wait begins after them', async () => {
  const turns = new Turns(2)
  const { begun } = takeTurns(turns, 3)
  await endOfTurn()
  turns.take(() => void begun.push(3))
  expect(begun).toEqual([0, 1, 2, 3])
  turns.take(() => void begun.push(4))
  turns.take(() => void begun.push(5))
  turns.take(() => void begun.push(6))
  await endOfTurn()
  turns.take(() => void begun.push(7))
  expect(begun).toEqual([0, 1, 2, 3, 4, 5])
  await endOfTurn()
  await endOfTurn()
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
})

it('whoever leaves the line does not begin, and costs nobody his turn', async () => {
  const turns = new Turns(1)
  const { begun, begins } = takeTurns(turns, 3)
  for (const begin of begins.slice(0, 2)) turns.leave(begin)
  await endOfTurn()
  expect(begun).toEqual([0, 2])
})

it('how long the next one has waited is known', async () => {
  const turns = new Turns(1)
  takeTurns(turns, 2)
  const waitedMs = turns.waitedMs()
  expect(waitedMs).toBeGreaterThanOrEqual(0)
  const until = performance.now() + 5
  while (performance.now() < until) continue
  expect(turns.waitedMs()).toBeGreaterThanOrEqual(waitedMs + 4)
  await endOfTurn()
  expect(turns.waitedMs()).toBe(0)
})
