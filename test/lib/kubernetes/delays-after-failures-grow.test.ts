import { expect, it } from 'vitest'
import {
  createThing,
  inOrder,
  listsAndWatches,
  sendEventsAndEnd,
  sendList,
  sendStatus,
} from './scripted-api-server.ts'
import { watchThings } from './watch-things.ts'
import { eventually } from '../../support/eventually.ts'

it('doubles the delay up to a maximum', async () => {
  const failedAt: number[] = []
  const requestedAt: number[] = []
  await watchThings(
    (request, response) => {
      requestedAt.push(performance.now())
      sendStatus(503)(request, response)
    },
    {
      onError: () => failedAt.push(performance.now()),
      timing: { minDelayMs: 50, maxDelayMs: 200 },
    },
  )
  await eventually(() => expect(requestedAt).toHaveLength(7))
  const delays = failedAt.map((time, index) => (requestedAt[index + 1] ?? Infinity) - time)
  // Half of each delay is random, and timers may be a millisecond early.
  const shortest = [25, 50, 100, 100, 100, 100]
  for (const [index, delay] of shortest.entries()) expect(delays[index]).toBeGreaterThan(delay - 2)
})

it('begins with the shortest delay after a success', async () => {
  const delays: number[] = []
  let failedAt = Infinity
  const lists = inOrder(
    ...Array.from({ length: 8 }, () => sendStatus(503)),
    sendList('9', createThing('a', '1')),
  )
  let watches = 0
  await watchThings(
    listsAndWatches(
      (request, response) => {
        if (failedAt < Infinity) delays.push(performance.now() - failedAt)
        lists(request, response)
      },
      (request, response) => {
        watches += 1
        if (watches % 2 === 1) return sendEventsAndEnd(100)(request, response)
        failedAt = performance.now()
        return sendStatus(503)(request, response)
      },
    ),
    { timing: { minDelayMs: 10, maxDelayMs: 1280 } },
  )
  // After eight failures the delay was over 600 ms. A machine that is busy may lengthen one of them, but not all.
  await eventually(() => expect(Math.min(...delays)).toBeLessThan(500))
})

it('does not shorten the delay after failures that take long', async () => {
  const failedAt: number[] = []
  const requestedAt: number[] = []
  await watchThings(
    (request, response) => {
      requestedAt.push(performance.now())
      setTimeout(() => sendStatus(503)(request, response), 250)
    },
    {
      onError: () => failedAt.push(performance.now()),
      timing: { minDelayMs: 50, maxDelayMs: 200 },
    },
  )
  await eventually(() => expect(requestedAt).toHaveLength(4))
  // The third delay: at least half of the maximum.
  expect((requestedAt[3] ?? 0) - (failedAt[2] ?? 0)).toBeGreaterThan(98)
})
