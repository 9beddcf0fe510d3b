import { expect, it } from 'vitest'
import {
  createBookmark,
  createEvent,
  createThing,
  inOrder,
  listsAndWatches,
  sendEvents,
  sendEventsAndEnd,
  sendJson,
  sendList,
} from './scripted-api-server.ts'
import { watchThings } from './watch-things.ts'
import { eventually } from '../../support/eventually.ts'

const { uid: _, ...withoutUid } = createThing('a', '10').metadata

it.each([
  ['is not JSON', '{"type":"ADDED"\n', 'Malformed'],
  ['is empty', '\n', 'Malformed'],
  ['has no object', '{"type":"ADDED"}\n', 'Malformed'],
  ['has an unknown type', createEvent('RENAMED', createThing('a', '10')), 'Malformed'],
  ['has no uid', createEvent('ADDED', { ...createThing('a', '10'), metadata: withoutUid }), 'Malformed'],
  ['is a bookmark without version', createEvent('BOOKMARK', { metadata: {} }), 'Malformed'],
  ['is an internal error', createEvent('ERROR', { code: 500, message: 'etcd' }), 'Refused'],
  ['is larger than 4 MiB', `"${'x'.repeat(5 * 1024 * 1024)}`, 'TooLarge'],
])('lists again if an event %s', async (_, line, reason) => {
  const lists = inOrder(sendList('9', createThing('a', '1')), sendList('20', createThing('a', '19')))
  const watches = inOrder(sendEvents(createBookmark('10'), line), sendEvents())
  const { reports, errors, requests } = await watchThings(listsAndWatches(lists, watches))
  await eventually(() => expect(requests).toHaveLength(4))
  expect(reports).toEqual([['a@1'], ['a@19']])
  expect(errors.map((error) => error.reason)).toEqual([reason])
  expect(requests.at(-1)?.query.get('resourceVersion')).toBe('20')
})

it('lists again if a watch ends within an event', async () => {
  const lists = inOrder(sendList('9'), sendList('20', createThing('a', '19')))
  const event = createEvent('ADDED', createThing('a', '10'))
  const watches = inOrder(sendEventsAndEnd(200, event.slice(0, -1)), sendEvents())
  const { reports, errors } = await watchThings(listsAndWatches(lists, watches))
  await eventually(() => expect(reports).toEqual([[], ['a@19']]))
  expect(errors).toMatchObject([{ reason: 'Malformed' }])
})

it.each([
  ['no items', { metadata: { resourceVersion: '9' } }],
  ['no version', { metadata: {}, items: [] }],
  ['an item without metadata', { metadata: { resourceVersion: '9' }, items: [{ kind: 'Thing' }] }],
])('does not report a list with %s', async (_, content) => {
  const lists = inOrder(sendJson(content), sendList('20', createThing('a', '19')))
  const { reports, errors } = await watchThings(listsAndWatches(lists, sendEvents()))
  await eventually(() => expect(reports).toEqual([['a@19']]))
  expect(errors).toMatchObject([{ reason: 'Malformed' }])
})
