import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { listsAndWatches, sendEvents, sendList, sendStatus, type Script } from './scripted-api-server.ts'
import { watchThings } from './watch-things.ts'
import { eventually } from '../../support/eventually.ts'

const sendNothing: Script = () => undefined

it.each<readonly [string, Script]>([
  ['a list', sendNothing],
  ['the start of a watch', listsAndWatches(sendList('9'), sendNothing)],
  ['a watch', listsAndWatches(sendList('9'), sendEvents())],
])('ends the connection of %s', async (_, script) => {
  const closed: Promise<unknown>[] = []
  const { watch, requests, errors, reports } = await watchThings((request, response) => {
    closed.push(once(response, 'close'))
    script(request, response)
  })
  const expected = script === sendNothing ? 1 : 2
  await eventually(() => expect(requests).toHaveLength(expected))
  await setTimeout(50)
  watch.close()
  const reported = reports.length
  await Promise.all(closed)
  await setTimeout(50)
  expect(errors).toEqual([])
  expect(requests).toHaveLength(expected)
  expect(reports).toHaveLength(reported)
})

it('sends nothing after a delay', async () => {
  const { watch, requests, errors } = await watchThings(sendStatus(503), { timing: { minDelayMs: 50 } })
  await eventually(() => expect(errors).toHaveLength(1))
  watch.close()
  await setTimeout(150)
  expect(requests).toHaveLength(1)
})
