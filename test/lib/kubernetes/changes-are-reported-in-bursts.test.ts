import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import {
  createBookmark,
  createEvent,
  createThing,
  listsAndWatches,
  sendEvents,
  sendList,
} from './scripted-api-server.ts'
import { watchThings } from './watch-things.ts'
import { eventually } from '../../support/eventually.ts'

it('reports added, modified and deleted resources together', async () => {
  const events = [
    createEvent('ADDED', createThing('c', '10')),
    createEvent('MODIFIED', createThing('a', '11')),
    createEvent('DELETED', createThing('b', '12')),
    createBookmark('13'),
  ]
  const lists = sendList('9', createThing('a', '1'), createThing('b', '2'))
  const { reports, errors } = await watchThings(listsAndWatches(lists, sendEvents(...events)))
  await eventually(() => expect(reports).toHaveLength(2))
  await setTimeout(100)
  expect(reports).toEqual([
    ['a@1', 'b@2'],
    ['a@11', 'c@10'],
  ])
  expect(errors).toEqual([])
})

it('does not wait for the end of many changes', async () => {
  let version = 10
  const { reports } = await watchThings(
    listsAndWatches(sendList('9'), (request, response) => {
      sendEvents()(request, response)
      const timer = setInterval(() => {
        version += 1
        response.write(createEvent('MODIFIED', createThing('a', String(version))))
        if (version === 200) clearInterval(timer)
      }, 5)
    }),
    { timing: { burstMs: 250 } },
  )
  await eventually(() => expect(reports.at(-1)).toEqual(['a@200']))
  // One would be the list, and one the end.
  expect(reports.length).toBeGreaterThan(2)
})

it('reads an event that arrives in parts', async () => {
  const event = Buffer.from(createEvent('ADDED', createThing('a', '10', { text: 'zwölf €' })))
  const { reports, errors } = await watchThings(
    listsAndWatches(sendList('9'), async (request, response) => {
      sendEvents()(request, response)
      for (const byte of event) {
        response.write(Buffer.of(byte))
        await setTimeout(1)
      }
    }),
  )
  await eventually(() => expect(reports).toEqual([[], ['a@10']]))
  expect(errors).toEqual([])
})
