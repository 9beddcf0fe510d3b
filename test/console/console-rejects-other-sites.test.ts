import { expect, it } from 'vitest'
import { request } from 'undici'
import { useSharedGateway } from '../gateway/support/running-gateway.ts'

const suite = useSharedGateway({
  adjust: (settings) => ({ ...settings, admin: { ...settings.admin, console: true } }),
})

/** Sends a request to the admin port as a browser would, with these headers. */
async function sendRequest(
  path: string,
  headers: Record<string, string> = {},
  method: 'GET' | 'POST' = 'GET',
) {
  const {
    statusCode,
    headers: sent,
    body,
  } = await request(suite.gateway.adminUrl + path, { method, headers })
  return { status: statusCode, headers: sent, text: await body.text() }
}

/** Expects a response without console data. */
function expectClosedConsole(response: { readonly status: number; readonly text: string }): void {
  expect(response.status).toBe(403)
  expect(JSON.parse(response.text)).toEqual({ error: expect.stringContaining('the console') })
}

const paths = [
  '/console',
  '/console/console.js',
  '/console/data',
  '/console/access',
  '/console/search',
  '/console/policy-files',
]

it('rejects a page with another host name, as after DNS rebinding', async () => {
  for (const path of paths)
    expect(await sendRequest(path, { host: 'gateway.example' })).toMatchObject({ status: 403 })
})

it.for(['cross-site', 'same-site'])('rejects requests from a %s page', async (site) => {
  for (const path of paths) expectClosedConsole(await sendRequest(path, { 'sec-fetch-site': site }))
  const image = { 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }
  expectClosedConsole(await sendRequest('/console', image))
})

it('allows links from other sites to the page only', async () => {
  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  expect(await sendRequest('/console', link)).toMatchObject({ status: 200 })
  expectClosedConsole(await sendRequest('/console/data', link))
})

it('is read-only', async () => {
  for (const path of paths) expect(await sendRequest(path, {}, 'POST')).toMatchObject({ status: 404 })
})

it('forbids foreign scripts, framing and caching', async () => {
  for (const path of paths) {
    const { headers } = await sendRequest(path)
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    })
    const policy = String(headers['content-security-policy'])
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]) {
      expect(policy).toContain(part)
    }
    expect(policy).not.toContain('unsafe')
  }
})

it.for([
  ['lake/orders', 200, { id: 'lake/orders' }],
  ['lake$orders', 200, { id: 'lake/orders' }],
  ['["lake", "orders"]', 200, { id: 'lake/orders' }],
  ['$', 200, { id: '/' }],
  ['', 200, { id: '/' }],
  ['lake//orders', 400, { error: expect.stringContaining('empty') as string }],
  ['lake/staff$orders', 400, { error: expect.stringContaining('has both "/" and "$"') as string }],
] as const)('reads an id as commands do: %s', async ([id, status, body]) => {
  const query = new URLSearchParams({ id, kind: 'table' }).toString()
  const response = await sendRequest(`/console/access?${query}`)
  expect({ ...response, body: JSON.parse(response.text) }).toMatchObject({ status, body })
})
