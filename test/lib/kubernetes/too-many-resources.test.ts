import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import {
  createEvent,
  createThing,
  inOrder,
  listsAndWatches,
  sendEvents,
  sendList,
} from './scripted-api-server.ts'
import { watchThings } from './watch-things.ts'
import { eventually } from '../../support/eventually.ts'

const large = { text: 'x'.repeat(1000) }

it('does not report a list over the limit', async () => {
  const things = ['a', 'b', 'c'].map((name) => createThing(name, '1', large))
  const lists = inOrder(sendList('9', ...things), sendList('10', ...things.slice(1)))
  const { reports, errors } = await watchThings(listsAndWatches(lists, sendEvents()), {
    maxTotalLength: 3000,
  })
  await eventually(() => expect(reports).toEqual([['b@1', 'c@1']]))
  expect(errors).toMatchObject([
    { reason: 'TooLarge', message: 'the resources have more than 3000 characters; delete some of them' },
  ])
})

it('keeps the resources before an event over the limit', async () => {
  const events = [
    createEvent('ADDED', createThing('b', '10', large)),
    // Replaces its first version in the count.
    createEvent('MODIFIED', createThing('b', '11', large)),
    createEvent('MODIFIED', createThing('b', '12', { text: 'x'.repeat(3000) })),
  ]
  const lists = sendList('9', createThing('a', '1', large))
  const { reports, errors } = await watchThings(listsAndWatches(lists, sendEvents(...events)), {
    maxTotalLength: 3000,
    timing: { minDelayMs: 5000, maxDelayMs: 5000 },
  })
  await eventually(() => expect(reports).toHaveLength(2))
  await setTimeout(50)
  expect(reports).toEqual([['a@1'], ['a@1', 'b@11']])
  expect(errors).toMatchObject([{ reason: 'TooLarge' }])
})
