import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { allowEverything, openGateway, type TestedGateway } from '../gateway/support/open-gateway.ts'
import {
  respondWith,
  startRecordingUpstream,
  type RecordingUpstream,
} from '../gateway/support/recording-upstream.ts'
import { hasBrowser, startBrowser } from './browser.ts'

const isInstalled = hasBrowser()
if (!isInstalled)
  console.warn('SKIPPED: the tests of the console in a browser, as there is no Chromium on this machine.')
const inBrowser = it.skipIf(!isInstalled)

/** A name that runs script if it is ever used as markup. */
const hostile = '<img src=x onerror=document.title=1>'
const route = `/v1/namespace/${encodeURIComponent(hostile)}`

let browser: Browser
let gateway: TestedGateway
let upstream: RecordingUpstream
let page: Page
const pageErrors: string[] = []

beforeAll(async () => {
  if (!isInstalled) return
  upstream = await startRecordingUpstream()
  upstream.answering = respondWith(200, {})
  gateway = await openGateway(upstream.url, {
    users: ['alice'],
    policies: [
      allowEverything,
      {
        name: 'sales',
        namespace: ['prod', 'sales'],
        rules: [
          {
            id: 'analysts',
            effect: 'allow',
            subjects: { groups: ['analysts'] },
            operations: ['query'],
            when: 'client.address != "192.0.2.7"',
          },
        ],
      },
      {
        name: 'hostile',
        namespace: [hostile],
        rules: [{ id: 'read', effect: 'allow', subjects: { users: [hostile] }, operations: ['read'] }],
      },
    ],
    adjust: (settings) => ({ ...settings, admin: { ...settings.admin, console: true } }),
  })
  browser = await startBrowser()
})

afterAll(async () => {
  await browser?.close()
  await gateway?.close()
  await upstream?.close()
})

beforeEach(async () => {
  if (!isInstalled) return
  pageErrors.length = 0
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  page = await context.newPage()
  page.setDefaultTimeout(20_000)
  page.on('console', (message) => pageErrors.push(message.text()))
  page.on('pageerror', ({ message }) => pageErrors.push(message))
  await page.goto(`${gateway.adminUrl}/console`)
  await page
    .getByRole('status')
    .filter({ hasText: /^ready$/ })
    .waitFor()
})

inBrowser('requests and changes are shown live, and no name becomes markup', async () => {
  expect((await gateway.post(`${route}/create`, { body: {} })).status).toBe(200)
  expect((await gateway.post(`${route}/drop`, { as: 'alice', body: {} })).status).toBe(403)
  const change = page.getByRole('listitem').filter({ hasText: 'CreateNamespace' })
  await change.filter({ hasText: hostile }).filter({ hasText: 'committed' }).waitFor()
  await change.locator('summary').click()
  await change
    .getByText(/^committed \(200\) after .* record \d+ of \d{8}-[0-9a-f]{12}, [0-9a-f]{64}$/)
    .waitFor()
  const refusals = page.getByRole('list', { name: 'Newest refusals' })
  await refusals.getByText('403 no_rule').waitFor()
  await refusals.getByText('alice').waitFor()
  await page.getByRole('row', { name: /^DropNamespace 1 / }).waitFor()
  await page.getByText('1 denied by a policy').waitFor()
  expect(await page.locator('img[src="x"]').count()).toBe(0)
  expect(await page.title()).toBe('catalog-gateway console')
  expect(pageErrors).toEqual([])
})

inBrowser('the tree and the matrix show permissions and their rules', async () => {
  await page.getByRole('button', { name: 'beneath /', exact: true }).waitFor()
  await page.getByRole('button', { name: hostile, exact: true }).click()
  await page.getByRole('button', { name: `user ${hostile}` }).waitFor()
  await page.getByRole('button', { name: 'beneath prod', exact: true }).click()
  await page.getByRole('button', { name: 'sales', exact: true }).click()
  const caller = page.getByRole('button', { name: 'group analysts' })
  await page.getByRole('row', { name: /^group analysts – all, if – / }).waitFor()
  await caller.press('Enter')
  await page.getByText('by sales/analysts').waitFor()
  await page.getByText('client.address != "192.0.2.7"').waitFor()
  await page.getByLabel('Object').fill('prod//sales')
  await page.getByLabel('Object').press('Enter')
  await page.getByText(/empty/).waitFor()
  expect(pageErrors.filter((text) => !text.includes('400'))).toEqual([])
})

inBrowser.for([
  { width: 360, colorScheme: 'light' },
  { width: 1600, colorScheme: 'dark' },
] as const)('at $width px, $colorScheme, the page is accessible', async ({ width, colorScheme }) => {
  await gateway.get('/v1/namespace/$/list', { as: null })
  await page.setViewportSize({ width, height: 800 })
  await page.emulateMedia({ colorScheme })
  await page.getByText('401 missing').first().waitFor()
  await page.evaluate(axe.source)
  const found = await page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run()
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  })
  expect(found).toEqual([])
  const wide = await page.evaluate('document.documentElement.scrollWidth')
  expect(wide).toBe(width)
})
