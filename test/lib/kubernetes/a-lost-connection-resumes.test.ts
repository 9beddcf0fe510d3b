import { expect, it } from 'vitest'
import {
  createBookmark,
  createEvent,
  createThing,
  inOrder,
  isWatch,
  listsAndWatches,
  sendEvents,
  sendEventsAndBreak,
  sendEventsAndEnd,
  sendList,
  sendStatus,
} from './scripted-api-server.ts'
import { watchThings } from './watch-things.ts'
import { eventually } from '../../support/eventually.ts'

it('continues from the last event or bookmark', async () => {
  const watches = inOrder(
    sendEventsAndEnd(200, createEvent('ADDED', createThing('a', '10'))),
    sendEventsAndBreak(createBookmark('15')),
    (_, response) => response.destroy(),
    sendEvents(createEvent('DELETED', createThing('a', '16'))),
  )
  const { reports, errors, requests } = await watchThings(listsAndWatches(sendList('9'), watches))
  await eventually(() => expect(reports).toEqual([[], ['a@10'], []]))
  expect(requests.map(isWatch)).toEqual([false, true, true, true, true])
  expect(requests.slice(1).map(({ query }) => query.get('resourceVersion'))).toEqual(['9', '10', '15', '15'])
  expect(errors.map(({ reason }) => reason)).toEqual(['Unreachable', 'Unreachable'])
})

it('lists again after an error status, as a restored database may have older versions', async () => {
  const lists = inOrder(sendList('900', createThing('a', '800')), sendList('5', createThing('a', '4')))
  const watches = inOrder(sendEventsAndEnd(200), sendStatus(504, 'Too large resource version'), sendEvents())
  const { reports, requests } = await watchThings(listsAndWatches(lists, watches))
  await eventually(() => expect(requests).toHaveLength(5))
  expect(requests.at(-1)?.query.get('resourceVersion')).toBe('5')
  expect(reports).toEqual([['a@800'], ['a@4']])
})
