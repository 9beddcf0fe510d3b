import { once } from 'node:events'
import { expect, it } from 'vitest'
import {
  createBookmark,
  createEvent,
  createThing,
  inOrder,
  isWatch,
  listsAndWatches,
  sendEvents,
  sendList,
} from './scripted-api-server.ts'
import { watchThings } from './watch-things.ts'
import { eventually } from '../../support/eventually.ts'

it('closes a watch without events and continues from its version', async () => {
  const closed: Promise<unknown>[] = []
  const watches = inOrder(
    (request, response) => {
      closed.push(once(response, 'close'))
      sendEvents(createBookmark('12'))(request, response)
    },
    sendEvents(createEvent('ADDED', createThing('a', '13'))),
  )
  const { reports, errors, requests } = await watchThings(listsAndWatches(sendList('9'), watches), {
    timing: { silenceMs: 1_000 },
  })
  await eventually(() => expect(reports.at(-1)).toEqual(['a@13']))
  await Promise.all(closed)
  expect(requests.filter(isWatch).at(1)?.query.get('resourceVersion')).toBe('12')
  expect(errors).toEqual([])
})

it('keeps a watch with bookmarks', async () => {
  const { requests, countConnections } = await watchThings(
    listsAndWatches(sendList('9'), (request, response) => {
      sendEvents()(request, response)
      let version = 9
      const timer = setInterval(() => {
        version += 1
        response.write(createBookmark(String(version)))
        if (version === 20) {
          clearInterval(timer)
          response.end()
        }
      }, 100)
    }),
    { timing: { silenceMs: 1000 } },
  )
  await eventually(() => expect(countConnections()).toBe(2))
  expect(requests.at(-1)?.query.get('resourceVersion')).toBe('20')
})
