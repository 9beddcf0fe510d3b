import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { inOrder, sendStatus, type Script } from '../../../lib/kubernetes/scripted-api-server.ts'
import { accept, applyPatch, createPolicy, getNames, openReporter } from './report-results.ts'
import { eventually } from '../../../support/eventually.ts'

const names = Array.from({ length: 12 }, (_, index) => `policy-${index}`)
const never = 60_000
const results = names.map((name) => accept(createPolicy(name)))

it.each([404, 409])('leaves %i to the next report', async (status) => {
  const { reporter, requests, errors } = await openReporter(inOrder(sendStatus(status), applyPatch))
  reporter.report([accept(createPolicy('one')), accept(createPolicy('two'))])
  await eventually(() => expect(requests).toHaveLength(2))
  await setTimeout(150)
  expect(getNames(requests)).toEqual(['one', 'two'])
  expect(errors).toEqual([])
})

const breakConnection: Script = (_, response) => response.destroy()

it.each<readonly [string, Script]>([
  ['is unavailable', sendStatus(503)],
  ['has too many requests', sendStatus(429)],
  ['does not respond', breakConnection],
])('pauses while the API server %s', async (_, script) => {
  const { reporter, requests, errors } = await openReporter(script, never)
  reporter.report(results)
  await eventually(() => expect(requests).toHaveLength(4))
  await setTimeout(200)
  expect(requests).toHaveLength(4)
  expect(errors).toHaveLength(1)
})

it('writes what is missing when the API server is available again', async () => {
  const unavailable = Array.from({ length: 8 }, () => sendStatus(503))
  const { reporter, requests } = await openReporter(inOrder(...unavailable, applyPatch))
  reporter.report(results)
  await eventually(() => expect(requests).toHaveLength(8 + names.length))
  expect(getNames(requests.slice(8))).toEqual(names.toSorted())
})

const forbidden = names.map((name) => accept(createPolicy(name, { namespace: 'team-b', uid: `b/${name}` })))
const forbidTeamB: Script = (request, response) => {
  const script = request.path.includes('team-b') ? sendStatus(403) : applyPatch
  script(request, response)
}

it('writes the status of other resources if some are refused', async () => {
  const { reporter, requests, errors } = await openReporter(forbidTeamB, never)
  reporter.report([...forbidden, ...results])
  await eventually(() => expect(requests).toHaveLength(2 * names.length))
  await setTimeout(300)
  expect(errors).toMatchObject([{ status: 403 }])
  // A report does not repeat failures at once.
  reporter.report([...forbidden, ...results])
  await setTimeout(100)
  expect(requests).toHaveLength(2 * names.length)
})

it('retries what was refused', async () => {
  const { reporter, requests } = await openReporter(inOrder(...names.map(() => sendStatus(403)), applyPatch))
  reporter.report(results)
  await eventually(() => expect(requests).toHaveLength(2 * names.length))
})

it('sends at most four requests at a time, and none after it is closed', async () => {
  const closed: Promise<unknown>[] = []
  const { reporter, requests, errors } = await openReporter((_, response) => {
    closed.push(once(response, 'close'))
  })
  reporter.report(results)
  await eventually(() => expect(requests).toHaveLength(4))
  await setTimeout(100)
  expect(requests).toHaveLength(4)
  await reporter.close()
  await Promise.all(closed)
  expect(requests).toHaveLength(4)
  expect(errors).toEqual([])
})
