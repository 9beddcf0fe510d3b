import { expect, it } from 'vitest'
import {
  createEvent,
  createThing,
  inOrder,
  isWatch,
  listsAndWatches,
  sendEvents,
  sendEventsAndBreak,
  sendEventsAndEnd,
  sendJson,
  sendList,
  sendStatus,
  type Script,
} from './scripted-api-server.ts'
import { watchThings } from './watch-things.ts'
import { eventually } from '../../support/eventually.ts'

it.each<readonly [string, Script, readonly (number | undefined)[]]>([
  ['a change', sendEvents(createEvent('MODIFIED', createThing('a', '19'))), []],
  ['an expired version', sendEvents(createEvent('ERROR', { code: 410 })), []],
  ['the end of the watch', sendEventsAndEnd(50), []],
  ['a lost connection', sendEventsAndBreak(), [undefined]],
  ['an error status, as of a restored database', sendStatus(504, 'Too large resource version'), [504]],
])('%s causes a complete list, and a watch from its version', async (_, watch, statuses) => {
  const lists = inOrder(sendList('9', createThing('a', '1')), sendList('20', createThing('a', '19')))
  const { reports, errors, requests } = await watchThings(
    listsAndWatches(lists, inOrder(watch, sendEvents())),
  )
  await eventually(() => expect(requests).toHaveLength(4))
  expect(requests.map(isWatch)).toEqual([false, true, false, true])
  expect(requests.at(-1)?.query.get('resourceVersion')).toBe('20')
  expect(reports).toEqual([['a@1'], ['a@19']])
  expect(errors.map(({ status }) => status)).toEqual(statuses)
})

it('many changes cause few lists', async () => {
  const watch = sendEvents(createEvent('ADDED', createThing('a', '10')))
  const { requests, errors } = await watchThings(listsAndWatches(sendList('9'), watch), {
    timing: { minDelayMs: 10_000 },
  })
  await eventually(() => expect(requests).toHaveLength(2))
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(requests).toHaveLength(2)
  expect(errors).toEqual([])
})

it.each([
  ['no items', { metadata: { resourceVersion: '9' } }],
  ['no version', { metadata: {}, items: [] }],
  ['an item without metadata', { metadata: { resourceVersion: '9' }, items: [{ kind: 'Thing' }] }],
])('does not report a list with %s', async (_, content) => {
  const lists = inOrder(sendJson(content), sendList('20', createThing('a', '19')))
  const { reports, errors } = await watchThings(listsAndWatches(lists, sendEvents()))
  await eventually(() => expect(reports).toEqual([['a@19']]))
  expect(errors).toMatchObject([{ status: undefined }])
})

it('a list that is refused by its receiver is a failure', async () => {
  let count = 0
  const { errors, requests } = await watchThings(listsAndWatches(sendList('9'), sendEvents()), {
    onList() {
      count += 1
      if (count === 1) throw new Error('not now')
    },
  })
  await eventually(() => expect(requests).toHaveLength(3))
  expect(requests.map(isWatch)).toEqual([false, false, true])
  expect(errors).toHaveLength(1)
})
