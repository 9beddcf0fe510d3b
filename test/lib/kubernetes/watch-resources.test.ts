import { setTimeout as pause } from 'node:timers/promises'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import type { KubernetesError } from '../../../src/kubernetes/kubernetes-client.ts'
import {
  watchResources,
  type WatchResourcesOptions,
  type WatchTiming,
} from '../../../src/kubernetes/watch-resources.ts'
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
  startScriptedApiServer,
  type Script,
} from './scripted-api-server.ts'
import { eventually } from '../../support/eventually.ts'

const thingsPath = '/apis/example.com/v1/namespaces/team-a/things'

const fastTiming: WatchTiming = { minDelayMs: 10, maxDelayMs: 100 }

/** Watches things of a scripted API server, and collects the reports: names with versions, such as `a@7`. */
async function watchThings(
  script: Script,
  options: Partial<Omit<WatchResourcesOptions, 'timing' | 'signal'>> & {
    readonly timing?: Partial<WatchTiming>
  } = {},
) {
  const server = await startScriptedApiServer(script)
  const reports: (readonly string[])[] = []
  const errors: KubernetesError[] = []
  const closing = new AbortController()
  void watchResources({
    client: server.client,
    path: thingsPath,
    onList(resources) {
      reports.push(resources.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).toSorted())
    },
    onError: (error) => errors.push(error),
    ...options,
    timing: { ...fastTiming, ...options.timing },
    signal: closing.signal,
  })
  onTestFinished(() => closing.abort())
  return { ...server, closing, reports, errors }
}

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
  await pause(50)
  expect(reports).toEqual([])
  isComplete = true
  await eventually(() => expect(reports).toHaveLength(1))
  expect(reports[0]).toHaveLength(6)
})

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
  await pause(100)
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

const sendNothing: Script = () => undefined

it.each<readonly [string, Script]>([
  ['a list', sendNothing],
  ['the start of a watch', listsAndWatches(sendList('9'), sendNothing)],
  ['a watch', listsAndWatches(sendList('9'), sendEvents())],
])('ends the connection of %s', async (_, script) => {
  const closed: Promise<unknown>[] = []
  const { closing, requests, errors, reports } = await watchThings((request, response) => {
    closed.push(once(response, 'close'))
    script(request, response)
  })
  const expected = script === sendNothing ? 1 : 2
  await eventually(() => expect(requests).toHaveLength(expected))
  await pause(50)
  closing.abort()
  const reported = reports.length
  await Promise.all(closed)
  await pause(50)
  expect(errors).toEqual([])
  expect(requests).toHaveLength(expected)
  expect(reports).toHaveLength(reported)
})

it('sends nothing after a delay', async () => {
  const { closing, requests, errors } = await watchThings(sendStatus(503), { timing: { minDelayMs: 50 } })
  await eventually(() => expect(errors).toHaveLength(1))
  closing.abort()
  await pause(150)
  expect(requests).toHaveLength(1)
})

it('begins with the shortest delay after a success', async () => {
  const delays: number[] = []
  let failedAt = Infinity
  const lists = inOrder(
    ...Array.from({ length: 8 }, () => sendStatus(503)),
    sendList('9', createThing('a', '1')),
  )
  let watches = 0
  await watchThings(
    listsAndWatches(
      (request, response) => {
        if (failedAt < Infinity) delays.push(performance.now() - failedAt)
        lists(request, response)
      },
      (request, response) => {
        watches += 1
        if (watches % 2 === 1) return sendEventsAndEnd(100)(request, response)
        failedAt = performance.now()
        return sendStatus(503)(request, response)
      },
    ),
    { timing: { minDelayMs: 10, maxDelayMs: 1280 } },
  )
  // After eight failures the delay was over 600 ms. A machine that is busy may lengthen one of them, but not all.
  await eventually(() => expect(Math.min(...delays)).toBeLessThan(500))
})

it('does not shorten the delay after failures that take long', async () => {
  const failedAt: number[] = []
  const requestedAt: number[] = []
  await watchThings(
    (request, response) => {
      requestedAt.push(performance.now())
      setTimeout(() => sendStatus(503)(request, response), 250)
    },
    {
      onError: () => failedAt.push(performance.now()),
      timing: { minDelayMs: 50, maxDelayMs: 200 },
    },
  )
  await eventually(() => expect(requestedAt).toHaveLength(4))
  // The third delay: at least half of the maximum.
  expect((requestedAt[3] ?? 0) - (failedAt[2] ?? 0)).toBeGreaterThan(98)
})

const large = { text: 'x'.repeat(1000) }

it('does not report a list over the limit', async () => {
  const things = ['a', 'b', 'c'].map((name) => createThing(name, '1', large))
  const lists = inOrder(sendList('9', ...things), sendList('10', ...things.slice(1)))
  const { reports, errors } = await watchThings(listsAndWatches(lists, sendEvents()), {
    maxTotalLength: 3000,
  })
  await eventually(() => expect(reports).toEqual([['b@1', 'c@1']]))
  expect(errors).toMatchObject([
    { status: 413, message: 'the resources have more than 3000 characters; delete some of them' },
  ])
})
