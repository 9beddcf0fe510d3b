import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { tokenIssuersSchema } from '../../../src/config/token-issuer-settings.ts'
import { runningBackend } from '../../../src/backend/test/support/running-backend.ts'
import { hasBrowser, startBrowser } from '../../console/browser.ts'
import { signToken, startIssuer, type TestIssuer } from '../../identity/jwt/token-issuer.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { startGatewayBefore } from '../support/running-gateway.ts'

const isInstalled = hasBrowser()
const inBrowser = it.skipIf(!isInstalled)

let browser: Browser
let issuer: TestIssuer

beforeAll(async () => {
  if (!isInstalled) return
  browser = await startBrowser()
  issuer = await startIssuer()
})

afterAll(async () => {
  await browser?.close()
  await issuer?.stop()
})

/** Opens the page of a gateway in front of a bundled catalog, with all that the browser reports. */
async function openPage(path: string, basePath?: string) {
  const rules = allowEverything.rules.map((rule) => ({ ...rule, subjects: { any: true } as const }))
  const gateway = await startGatewayBefore((await runningBackend()).url(), {
    policies: [{ ...allowEverything, rules }],
    adjust: (settings) => ({
      ...settings,
      listen: { ...settings.listen, basePath },
      identity: { ...settings.identity, issuers: tokenIssuersSchema.parse([issuer.configuration]) },
    }),
  })
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  const reports: string[] = []
  const requests: string[] = []
  // Violations of the content security policy are among the messages.
  page.on('console', (message) => reports.push(message.text()))
  page.on('pageerror', ({ message }) => reports.push(message))
  page.on('request', (request) => requests.push(request.url()))
  await page.goto(gateway.url + path)
  await page.getByText('Describes a table', { exact: true }).waitFor()
  return { gateway, page, reports, requests }
}

async function authorize(page: Page, scheme: string, credential: string): Promise<void> {
  await page.getByRole('button', { name: 'Authorize' }).first().click()
  const dialog = page.locator('.dialog-ux .auth-container').filter({ hasText: scheme })
  await dialog.locator('input').fill(credential)
  await dialog.getByRole('button', { name: 'Authorize' }).click()
  await page.getByRole('button', { name: 'Close', exact: true }).first().click()
}

/** Sends the request of ListNamespaces by its form; returns status and body of the response. */
async function listNamespaces(page: Page): Promise<{ readonly status: string; readonly body: unknown }> {
  const operation = page.locator('.opblock', { hasText: 'Lists the namespaces of a namespace' }).first()
  await operation.locator('.opblock-summary-control').click()
  await operation.getByRole('button', { name: 'Try it out' }).click()
  await operation.getByPlaceholder('id', { exact: true }).fill('$')
  await operation.getByRole('button', { name: 'Execute' }).click()
  const response = operation.locator('.live-responses-table')
  return {
    status: await response.locator('tbody .response-col_status').innerText(),
    body: JSON.parse(await response.locator('.highlight-code code').first().innerText()) as unknown,
  }
}

inBrowser.for([
  ['/docs', undefined],
  ['/docs/', undefined],
  ['/docs', '/lake'],
] as const)('%s lists the operations, by its own files alone (base path %s)', async ([path, basePath]) => {
  const { gateway, page, reports, requests } = await openPage(path, basePath)
  expect(await page.locator('.opblock').count()).toBeGreaterThan(70)
  expect(requests.length).toBeGreaterThan(5)
  const document = `${gateway.url}/openapi.json`
  expect(requests.filter((url) => url !== document && !url.startsWith(`${gateway.url}/docs`))).toEqual([])
  expect(reports).toEqual([])
})

inBrowser.for(['apiKey', 'bearer'] as const)(
  'a request by %s gets the response of the catalog, and nothing is stored',
  async (scheme) => {
    const { gateway, page, reports } = await openPage('/docs', '/lake')
    const created = await gateway.post('/lake/v1/namespace/sales/create', { body: {} })
    expect(created.status).toBe(200)
    const credential = scheme === 'apiKey' ? gateway.key('dev') : await signToken(issuer.key)
    await authorize(page, scheme, credential)
    expect(await listNamespaces(page)).toEqual({ status: '200', body: { namespaces: ['sales'] } })
    expect(reports).toEqual([])
    const stored = '[localStorage.length, sessionStorage.length, document.cookie]'
    expect(await page.evaluate(stored)).toEqual([0, 0, ''])
    await page.goto(`${gateway.url}/docs`)
    await page.getByText('Describes a table', { exact: true }).waitFor()
    expect((await listNamespaces(page)).status).toBe('401')
  },
)

inBrowser('the page says how to get a key, and finds operations by name, path and permission', async () => {
  const { page } = await openPage('/docs')
  await page.getByText(/Ask the operators of this gateway for a key/).waitFor()
  const find = async (text: string, count: string) => {
    await page.getByRole('searchbox', { name: 'Search operations' }).fill(text)
    await page.getByRole('status').filter({ hasText: count }).waitFor()
    return page.locator('.opblock-summary-operation-id').allInnerTexts()
  }
  expect(await find('IndexStatsByGet', '1 operation')).toEqual(['DescribeTableIndexStatsByGet'])
  expect(await find('get /v1/namespace/{id}/list', '1 operation')).toEqual(['ListNamespaces'])
  expect(await find('VendCredentials credentials', 'operations')).toContain('DescribeTable')
  expect(await find('nothing has this name', '0 operations')).toEqual([])
})
