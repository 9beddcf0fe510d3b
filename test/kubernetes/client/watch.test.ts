import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import {
  createKubernetesClient,
  type KubernetesError,
  type KubernetesObject,
} from '../../../src/lib/kubernetes/kubernetes-client.ts'
import { watchResources, type WatchTiming } from '../../../src/lib/kubernetes/watch-resources.ts'
import {
  createThing,
  startApiServerWithThings,
  thingsPath,
  type ApiServerWithThings,
} from './api-server-with-things.ts'
import { eventually } from '../../support/eventually.ts'

let server: ApiServerWithThings

beforeAll(async () => {
  server = await startApiServerWithThings()
}, 180_000)
afterAll(() => server.close())
beforeEach(() => server.client.delete(thingsPath))

function watch(timing: Partial<WatchTiming> = {}, client = server.tested) {
  const reports: (readonly KubernetesObject[])[] = []
  const errors: KubernetesError[] = []
  let connections = 0
  const watched = watchResources({
    client,
    path: thingsPath,
    onChange: (resources) => reports.push(resources),
    onError: (error) => errors.push(error),
    onConnect: () => (connections += 1),
    timing: { minDelayMs: 100, maxDelayMs: 500, ...timing },
  })
  onTestFinished(() => watched.close())
  const texts = (): unknown =>
    reports
      .at(-1)
      ?.map(({ metadata, text }) => `${metadata.name}: ${String(text)}`)
      .toSorted()
  return { watched, reports, errors, texts, countConnections: () => connections }
}

it('reports a list of several pages, and changes', async () => {
  const names = Array.from({ length: 120 }, (_, index) => `thing-${index}`)
  await Promise.all(names.map((name) => server.client.post(thingsPath, createThing(name))))
  const { reports, errors, texts } = watch()
  await eventually(() => expect(reports).toHaveLength(1))
  expect(reports[0]).toHaveLength(120)
  expect(reports[0]?.[0]).toMatchObject({ apiVersion: 'example.com/v1', kind: 'Thing', text: 'one' })
  await server.client.delete(thingsPath)
  await eventually(() => expect(texts()).toEqual([]))
  await server.client.post(thingsPath, createThing('new'))
  await server.client.patch(`${thingsPath}/new`, { text: 'two' })
  await eventually(() => expect(texts()).toEqual(['new: two']))
  expect(errors).toEqual([])
})

it('resumes a silent watch without a list', async () => {
  const { reports, texts, countConnections, errors } = watch({ silenceMs: 500 })
  await eventually(() => expect(countConnections()).toBeGreaterThan(2))
  await server.client.post(thingsPath, createThing('new'))
  await eventually(() => expect(texts()).toEqual(['new: one']))
  expect(reports).toHaveLength(2)
  expect(errors).toEqual([])
})

it('keeps the resources while the API server is down, and has all changes afterwards', async () => {
  await server.client.post(thingsPath, createThing('old'))
  const { reports, texts, errors, countConnections } = watch()
  await eventually(() => expect(countConnections()).toBe(1))
  await server.stop()
  await eventually(() => expect(errors.length).toBeGreaterThan(2))
  expect(errors.every(({ reason }) => reason === 'Unreachable')).toBe(true)
  expect(reports).toHaveLength(1)
  await server.start()
  await server.client.delete(`${thingsPath}/old`)
  await server.client.post(thingsPath, createThing('new'))
  await eventually(() => expect(texts()).toEqual(['new: one']))
}, 120_000)

it('lists again if the version of a lost watch has expired (410 Gone)', async () => {
  await server.client.post(thingsPath, createThing('old'))
  const proxy = await startProxy(Number(new URL(server.url).port))
  const client = createKubernetesClient({
    ...server,
    apiServer: proxy.url,
    tokenFile: server.testedTokenFile,
  })
  onTestFinished(async () => {
    await client.close()
    await proxy.close()
  })
  const { texts, errors, countConnections } = watch({}, client)
  await eventually(() => expect(countConnections()).toBe(1))
  const { metadata } = await server.client.get<{ metadata: { resourceVersion: string } }>(thingsPath)
  proxy.cut()
  await server.client.delete(`${thingsPath}/old`)
  await server.client.post(thingsPath, createThing('new'))
  // A new API server has no history, so it knows of no deletion before its start.
  await server.stop()
  await server.start()
  const version = `watch=true&timeoutSeconds=1&resourceVersion=${metadata.resourceVersion}`
  await eventually(async () => expect(await readStatus(`${thingsPath}?${version}`)).toContain('410'))
  proxy.restore()
  await eventually(() => expect(texts()).toEqual(['new: one']))
  expect(errors.every(({ reason }) => reason === 'Unreachable')).toBe(true)
}, 180_000)

/** Returns what the API server responds, also with an error. */
async function readStatus(path: string): Promise<string> {
  return server.client.text(path).catch(String)
}

/** Starts a TCP proxy to a port of this machine, whose connections can be cut. */
async function startProxy(port: number) {
  const sockets = new Set<Socket>()
  let isCut = false
  const proxy = createServer((socket) => {
    const other = connect(port, '127.0.0.1')
    for (const each of [socket, other]) {
      sockets.add(each)
      each.on('error', () => undefined).on('close', () => sockets.delete(each))
    }
    if (isCut) socket.destroy()
    socket.pipe(other).pipe(socket)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const cut = () => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `https://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cut,
    restore: () => (isCut = false),
    async close() {
      cut()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}

it('lists again after the custom resource was removed and created', async () => {
  await server.client.post(thingsPath, createThing('old'))
  const { texts, errors, countConnections } = watch()
  await eventually(() => expect(countConnections()).toBe(1))
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const { metadata, ...definition } = await server.client.get(`${path}/things.example.com`)
  await server.client.delete(`${path}/things.example.com`)
  await eventually(() => expect(errors.some(({ status }) => status === 404)).toBe(true))
  await server.client.post(path, { ...definition, metadata: { name: metadata.name } })
  await eventually(() => server.client.post(thingsPath, createThing('new')))
  await eventually(() => expect(texts()).toEqual(['new: one']))
}, 120_000)
