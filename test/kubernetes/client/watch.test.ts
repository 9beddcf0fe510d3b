import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import type { KubernetesError, KubernetesObject } from '../../../src/kubernetes/kubernetes-client.ts'
import { watchResources } from '../../../src/kubernetes/watch-resources.ts'
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

function watch() {
  const reports: (readonly KubernetesObject[])[] = []
  const errors: KubernetesError[] = []
  let connections = 0
  const watched = watchResources({
    client: server.tested,
    path: thingsPath,
    onList(resources) {
      reports.push(resources)
    },
    onError: (error) => errors.push(error),
    onConnect: () => (connections += 1),
    timing: { minDelayMs: 100, maxDelayMs: 500 },
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

it('keeps the resources while the API server is down, and has all changes afterwards', async () => {
  await server.client.post(thingsPath, createThing('old'))
  const { reports, texts, errors, countConnections } = watch()
  await eventually(() => expect(countConnections()).toBe(1))
  await server.stop()
  await eventually(() => expect(errors.length).toBeGreaterThan(2))
  expect(errors.every(({ status }) => status === undefined)).toBe(true)
  expect(reports).toHaveLength(1)
  await server.start()
  await server.client.delete(`${thingsPath}/old`)
  await server.client.post(thingsPath, createThing('new'))
  await eventually(() => expect(texts()).toEqual(['new: one']))
}, 120_000)

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
