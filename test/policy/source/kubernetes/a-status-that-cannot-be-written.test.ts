import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { inOrder, sendStatus, type Script } from '../../../lib/kubernetes/scripted-api-server.ts'
import { accept, storeStatus, createPolicy, getNames, openWriter } from './report-results.ts'
import { eventually } from '../../../support/eventually.ts'

const names = Array.from({ length: 12 }, (_, index) => `policy-${index}`)
const soon = 50
const results = names.map((name) => accept(createPolicy(name)))

it.each([404, 409])('tries again after %i, which is no failure', async (status) => {
  const { writer, requests, errors } = await openWriter(inOrder(sendStatus(status), storeStatus), soon)
  writer.report([accept(createPolicy('one'))])
  await eventually(() => expect(requests).toHaveLength(2))
  await setTimeout(150)
  expect(getNames(requests)).toEqual(['one', 'one'])
  expect(errors).toEqual([])
})

const breakConnection: Script = (_, response) => response.destroy()

it.each<readonly [string, Script]>([
  ['is unavailable', sendStatus(503)],
  ['has too many requests', sendStatus(429)],
  ['does not respond', breakConnection],
])('pauses while the API server %s', async (_, script) => {
  const { writer, requests, errors } = await openWriter(script)
  writer.report(results)
  await eventually(() => expect(requests).toHaveLength(1))
  await setTimeout(200)
  expect(requests).toHaveLength(1)
  expect(errors).toHaveLength(1)
})

it.each([
  ['the API server is available again', Array.from({ length: 2 }, () => sendStatus(503))],
  ['the roles are there', names.map(() => sendStatus(403))],
])('writes what is missing when %s', async (_, refusals) => {
  const { writer, requests } = await openWriter(inOrder(...refusals, storeStatus), soon)
  writer.report(results)
  await eventually(() => expect(requests).toHaveLength(refusals.length + names.length))
  expect(getNames(requests.slice(refusals.length))).toEqual(names.toSorted())
})

const forbidden = names.map((name) => accept(createPolicy(name, { namespace: 'team-b', uid: `b/${name}` })))
const forbidTeamB: Script = (request, response) => {
  const script = request.path.includes('team-b') ? sendStatus(403) : storeStatus
  script(request, response)
}

it('writes the status of other resources if some are refused', async () => {
  const { writer, requests, errors } = await openWriter(forbidTeamB)
  writer.report([...forbidden, ...results])
  await eventually(() => expect(requests).toHaveLength(2 * names.length))
  await setTimeout(300)
  expect(errors).toMatchObject([{ status: 403 }])
  // A report does not repeat failures at once.
  writer.report([...forbidden, ...results])
  await setTimeout(100)
  expect(requests).toHaveLength(2 * names.length)
})

it('sends one request at a time, and none after it is closed', async () => {
  const closed: Promise<unknown>[] = []
  const { writer, requests, errors } = await openWriter((_, response) => {
    closed.push(once(response, 'close'))
  })
  writer.report(results)
  await eventually(() => expect(requests).toHaveLength(1))
  await setTimeout(100)
  expect(requests).toHaveLength(1)
  await writer.close()
  await Promise.all(closed)
  expect(requests).toHaveLength(1)
  expect(errors).toEqual([])
})
