import { expect, it, onTestFinished } from 'vitest'
import { passThroughSchema } from '../../../src/config/pass-through-settings.ts'
import { expectError } from '../support/expect-error.ts'
import { readRaw, rawRequest } from '../support/raw-request.ts'
import { startGatewayBefore } from '../support/running-gateway.ts'
import { startRecordingUpstream } from '../support/recording-upstream.ts'
import { servers, type TestedServer } from '../support/servers.ts'

// A page has the origin of its host, so a route with a host of its own shares no origin with the catalog.

const anyone = { allow: 'anyone' }

/** Starts a gateway with `/ui` at `console.example`, and `/open` at every other host. */
async function startGateway({ listen }: TestedServer) {
  const [catalog, application] = await Promise.all([startRecordingUpstream(), startRecordingUpstream()])
  onTestFinished(() => catalog.close())
  onTestFinished(() => application.close())
  const gateway = await startGatewayBefore(catalog.url, {
    adjust: (settings) => ({
      ...settings,
      listen: { ...settings.listen, ...listen },
      passThrough: passThroughSchema.parse([
        { prefix: '/ui', host: 'console.example', upstream: `${application.url}/console`, ...anyone },
        { prefix: '/open', upstream: `${application.url}/open`, ...anyone },
      ]),
    }),
  })
  return { gateway, catalog, application }
}

const described = '/v1/table/t/describe'

it.each(Object.entries<TestedServer>(servers))('%s: routes by host', async (_name, server) => {
  const { gateway, catalog, application } = await startGateway(server)
  const client = server.connect(gateway.url)
  const get = async (target: string, host: string) => {
    const response = await client.request({
      method: target === described ? 'POST' : 'GET',
      path: target,
      headers: { host, 'x-api-key': gateway.key('dev') },
    })
    response.body.resume()
    return response.statusCode
  }
  const served = [
    ['/ui/a', 'console.example'],
    ['/ui/a', 'CONSOLE.example:8443'],
    ['/ui/a', 'console.example.'],
    ['/open/a', 'gateway.example'],
    [described, 'gateway.example'],
    ['/openapi.json', 'gateway.example'],
    [described, 'console.example.evil'],
    [described, 'ui.console.example'],
  ] as const
  for (const [target, host] of served)
    expect([target, host, await get(target, host)]).toEqual([target, host, 200])
  expect([application.requests.length, catalog.requests.length]).toEqual([4, 3])
  const refused = [
    ['/ui/a', 'gateway.example'],
    ['/open/a', 'console.example'],
    [described, 'console.example'],
    [described, 'console.example:1'],
    [described, 'Console.Example.'],
    ['/openapi.json', 'console.example'],
    ['/docs', 'console.example'],
    ['/', 'console.example'],
  ] as const
  for (const [target, host] of refused)
    expect([target, host, await get(target, host)]).toEqual([target, host, 404])
  expect([application.requests.length, catalog.requests.length]).toEqual([4, 3])
  await client.destroy()
})

it('a request that names both hosts reaches neither', async () => {
  const { gateway, catalog, application } = await startGateway(servers['own HTTP/1.1'])
  for (const hosts of [
    ['console.example', 'gateway.example'],
    ['gateway.example', 'console.example'],
  ])
    for (const target of ['/ui', described]) {
      const lines = hosts.map((host) => `host: ${host}`)
      const sent = rawRequest([`GET ${target} HTTP/1.1`, 'connection: close', ...lines])
      expect((await readRaw(gateway.url, sent)).toString()).toMatch(/^HTTP\/1\.1 400 /)
    }
  for (const [authority, host] of [
    ['console.example', 'gateway.example'],
    ['gateway.example', 'console.example'],
  ])
    for (const target of ['/ui', described]) {
      const line = `POST http://${authority}${target} HTTP/1.1`
      const sent = rawRequest([line, 'connection: close', `host: ${host}`, 'content-length: 0'])
      expect((await readRaw(gateway.url, sent)).toString()).toMatch(/^HTTP\/1\.1 40[045] /)
    }
  expect([application.requests.length, catalog.requests.length]).toEqual([0, 0])
})

it('the refusal says that the host has routes only', async () => {
  const { gateway } = await startGateway(servers['own HTTP/1.1'])
  const refused = await gateway.post(described, { headers: { host: 'console.example' } })
  expectError(refused, {
    kind: 'Unsupported',
    status: 404,
    says: 'this host serves pass-through routes only',
  })
})
