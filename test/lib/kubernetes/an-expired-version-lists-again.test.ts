import { expect, it } from 'vitest'
import {
  createEvent,
  createThing,
  inOrder,
  isWatch,
  listsAndWatches,
  sendEvents,
  sendEventsAndEnd,
  sendList,
  sendStatus,
  type Script,
} from './scripted-api-server.ts'
import { watchThings } from './watch-things.ts'
import { eventually } from '../../support/eventually.ts'

const expired = {
  kind: 'Status',
  apiVersion: 'v1',
  code: 410,
  reason: 'Expired',
  message: 'too old resource version',
}

it.each<readonly [string, Script]>([
  ['a status', sendStatus(410)],
  ['an event', sendEvents(createEvent('ERROR', expired))],
])('lists at once, without an error, after 410 as %s', async (_, sendExpired) => {
  const lists = inOrder(sendList('9', createThing('a', '1')), sendList('20', createThing('b', '19')))
  // The first watch ends as usual; its version has expired when the second begins.
  const watches = inOrder(sendEventsAndEnd(200), sendExpired, sendEvents())
  const { reports, errors, requests } = await watchThings(listsAndWatches(lists, watches), {
    timing: { minDelayMs: 20 },
  })
  await eventually(() => expect(requests).toHaveLength(5))
  expect(requests.map(isWatch)).toEqual([false, true, true, false, true])
  expect(requests.at(-1)?.query.get('resourceVersion')).toBe('20')
  expect(reports).toEqual([['a@1'], ['b@19']])
  expect(errors).toEqual([])
})

it('delays if the version of a new list has expired', async () => {
  const { errors, requests } = await watchThings(listsAndWatches(sendList('9'), sendStatus(410)), {
    timing: { minDelayMs: 50, maxDelayMs: 50 },
  })
  await eventually(() => expect(errors.length).toBeGreaterThan(2))
  expect(errors[0]).toMatchObject({ status: 410 })
  expect(requests.length).toBeLessThanOrEqual(2 * (errors.length + 1))
})
