import { expect, it, onTestFinished } from 'vitest'
import { hasBrowser, startBrowser } from '../../console/browser.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

it.skipIf(!hasBrowser())(
  '/docs lists and finds operations, by its own files alone, and stores nothing',
  async () => {
    const browser = await startBrowser()
    onTestFinished(() => browser.close())
    const { gateway } = await startGatewayAndUpstream({ settings: { listen: { basePath: '/lake' } } })
    const page = await browser.newPage()
    const reports: string[] = []
    const requests: string[] = []
    // Violations of the content security policy are among the messages.
    page.on('console', (message) => reports.push(message.text()))
    page.on('pageerror', ({ message }) => reports.push(message))
    page.on('request', (request) => requests.push(request.url()))
    await page.goto(`${gateway.url}/docs`)
    await page.getByText('Describes a table', { exact: true }).waitFor()
    await page.getByText(/Ask the operators of this gateway for a key/).waitFor()
    expect(await page.locator('.opblock').count()).toBeGreaterThan(70)
    const find = async (text: string, count: string) => {
      await page.getByRole('searchbox', { name: 'Search operations' }).fill(text)
      await page.getByRole('status').filter({ hasText: count }).waitFor()
      return page.locator('.opblock-summary-operation-id').allInnerTexts()
    }
    expect(await find('IndexStatsByGet', '1 operation')).toEqual(['DescribeTableIndexStatsByGet'])
    expect(await find('get /v1/namespace/{id}/list', '1 operation')).toEqual(['ListNamespaces'])
    expect(await find('VendCredentials credentials', 'operations')).toContain('DescribeTable')
    expect(await find('nothing has this name', '0 operations')).toEqual([])
    expect(requests.length).toBeGreaterThan(3)
    const document = `${gateway.url}/openapi.json`
    expect(requests.filter((url) => url !== document && !url.startsWith(`${gateway.url}/docs`))).toEqual([])
    expect(reports).toEqual([])
    const stored = '[localStorage.length, sessionStorage.length, document.cookie]'
    expect(await page.evaluate(stored)).toEqual([0, 0, ''])
  },
)
