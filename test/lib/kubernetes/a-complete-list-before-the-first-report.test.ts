import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import {
  createThing,
  listsAndWatches,
  sendEvents,
  sendJson,
  sendStatus,
  type Script,
} from './scripted-api-server.ts'
import { watchThings } from './watch-things.ts'
import { eventually } from '../../support/eventually.ts'

const sendPages: Script = (request, response) => {
  const page = Number(request.query.get('continue') ?? '0')
  const metadata = { resourceVersion: '9', ...(page < 2 && { continue: String(page + 1) }) }
  const items = [createThing(`a${page}`, '1'), createThing(`b${page}`, '2')]
  sendJson({ metadata, items })(request, response)
}

it('reports all pages at once, and watches from the version of the list', async () => {
  const { reports, requests } = await watchThings(listsAndWatches(sendPages, sendEvents()))
  await eventually(() => expect(requests).toHaveLength(4))
  expect(reports).toEqual([['a0@1', 'a1@1', 'a2@1', 'b0@2', 'b1@2', 'b2@2']])
  expect(requests.map(({ query }) => query.get('continue'))).toEqual([null, '1', '2', null])
  expect(requests[0]?.query.get('limit')).toBe('50')
  expect(Object.fromEntries(requests[3]?.query ?? [])).toEqual({
    watch: 'true',
    resourceVersion: '9',
    timeoutSeconds: '60',
  })
})

it('reports nothing while the list is incomplete', async () => {
  let isComplete = false
  const lists: Script = (request, response) => {
    const isLost = request.query.get('continue') === '2' && !isComplete
    const script = isLost ? sendStatus(410) : sendPages
    script(request, response)
  }
  const { reports, errors } = await watchThings(listsAndWatches(lists, sendEvents()))
  await eventually(() => expect(errors.length).toBeGreaterThan(1))
  expect(errors[0]).toMatchObject({ status: 410 })
  await setTimeout(50)
  expect(reports).toEqual([])
  isComplete = true
  await eventually(() => expect(reports).toHaveLength(1))
  expect(reports[0]).toHaveLength(6)
})
