import { setImmediate as endOfTick } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { RequestQueue } from '../../../src/http1/server/request-queue.ts'

/** Schedules that many requests; `started` holds the numbers of those that have started. */
function scheduleRequests(queue: RequestQueue, requests: number) {
  const started: number[] = []
  const starts = Array.from({ length: requests }, (_, number) => () => void started.push(number))
  for (const start of starts) queue.schedule(start)
  return { started, starts }
}

it('starts one batch in each tick, first come, first served', async () => {
  const { started } = scheduleRequests(new RequestQueue(2), 5)
  expect(started).toEqual([0, 1])
  await endOfTick()
  expect(started).toEqual([0, 1, 2, 3])
  await endOfTick()
  expect(started).toEqual([0, 1, 2, 3, 4])
})

it('starts a new request after those that are pending', async () => {
  const queue = new RequestQueue(2)
  const { started } = scheduleRequests(queue, 3)
  await endOfTick()
  queue.schedule(() => void started.push(3))
  expect(started).toEqual([0, 1, 2, 3])
  for (const number of [4, 5, 6]) queue.schedule(() => void started.push(number))
  await endOfTick()
  queue.schedule(() => void started.push(7))
  expect(started).toEqual([0, 1, 2, 3, 4, 5])
  await endOfTick()
  await endOfTick()
  expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
})

it('starts a quarter of a batch in a tick that has accepted a connection, as others may be waiting', async () => {
  const queue = new RequestQueue(8)
  const { started } = scheduleRequests(queue, 30)
  expect(started).toHaveLength(8)
  queue.onConnection()
  await endOfTick()
  expect(started).toHaveLength(8 + 2)
  await endOfTick()
  expect(started).toHaveLength(8 + 2 + 8)
})

it('does not start a cancelled request, which does not count in a batch', async () => {
  const queue = new RequestQueue(1)
  const { started, starts } = scheduleRequests(queue, 3)
  for (const start of starts.slice(0, 2)) queue.cancel(start)
  await endOfTick()
  expect(started).toEqual([0, 2])
})

it('reports how long the oldest request has been pending', async () => {
  const queue = new RequestQueue(1)
  scheduleRequests(queue, 2)
  const before = queue.oldestPendingMs()
  expect(before).toBeGreaterThanOrEqual(0)
  const until = performance.now() + 5
  while (performance.now() < until) continue
  expect(queue.oldestPendingMs()).toBeGreaterThanOrEqual(before + 4)
  await endOfTick()
  expect(queue.oldestPendingMs()).toBe(0)
})
