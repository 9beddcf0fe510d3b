import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { request } from 'undici'
import { expect, it } from 'vitest'
import { useSharedGateway } from '../../gateway/support/running-gateway.ts'

// DNS rebinding: a page gives its own name the address of the admin port, and reads responses of that port as its own.

const suite = useSharedGateway({
  settings: { admin: { console: true, allowedHosts: ['metrics.example', '.gateway-admin.lake.svc'] } },
})

const paths = ['/metrics', '/livez', '/readyz', '/console', '/console/data', '/nothing']

async function ask(path: string, host: string) {
  const { statusCode, body } = await request(suite.gateway.adminUrl + path, { headers: { host } })
  return { status: statusCode, text: await body.text() }
}

it.each([
  'evil.example',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  'sub.metrics.example',
  'evil-gateway-admin.lake.svc',
  'gateway-admin.lake.svc.evil.example',
  '[evil.example]',
])('the name "%s" gets 403 for every path', async (host) => {
  for (const path of paths) {
    const { status, text: body } = await ask(path, host)
    expect([path, status]).toEqual([path, 403])
    expect(JSON.parse(body)).toEqual({ error: expect.stringContaining('admin.allowedHosts') })
  }
})

it.each([
  '127.0.0.1:2334',
  '[::1]:2334',
  '[fd00::1]',
  'localhost',
  'localhost.',
  'metrics.example:2334',
  'gateway-admin.lake.svc:2334',
  'gateway-0.gateway-admin.lake.svc:2334',
])('%s is served: no page has such a name', async (host) => {
  for (const path of ['/metrics', '/livez', '/readyz', '/console'])
    expect([path, (await ask(path, host)).status]).toEqual([path, 200])
})

it('a health check of HTTP/1.0 without a host is served: browsers always send one', async () => {
  const { hostname, port } = new URL(suite.gateway.adminUrl)
  const socket = connect(Number(port), hostname)
  socket.write('GET /livez HTTP/1.0\r\n\r\n')
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 /)
})
