import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { allowEverything, openGateway, type TestedGateway } from '../gateway/support/open-gateway.ts'
import {
  respondWith,
  startRecordingUpstream,
  type RecordingUpstream,
} from '../gateway/support/recording-upstream.ts'
import { saveComparison } from '../../src/audit/compare/last-comparison.ts'
import { hasBrowser, startBrowser } from './browser.ts'

const isInstalled = hasBrowser()
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
  upstream.handler = respondWith(200, {})
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
        name: 'closed',
        namespace: ['closed'],
        rules: [
          { id: 'all', effect: 'allow', subjects: { any: true }, operations: ['read'], when: 'mode == ""' },
          { id: 'alice', effect: 'deny', subjects: { users: ['alice'] }, operations: ['all'] },
        ],
      },
      {
        name: 'hostile',
        namespace: [hostile],
        rules: [{ id: 'read', effect: 'allow', subjects: { users: [hostile] }, operations: ['read'] }],
      },
    ],
    adjust: (settings) => ({
      ...settings,
      admin: { ...settings.admin, console: true },
      audit: { ...settings.audit, reads: true },
    }),
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

const entries = () => page.getByRole('list', { name: 'Changes and refusals' }).getByRole('listitem')

inBrowser('refusals and changes are shown live, and no name becomes markup', async () => {
  expect((await gateway.post(`${route}/create`, { body: {} })).status).toBe(200)
  expect((await gateway.post(`${route}/drop`, { as: 'alice', body: {} })).status).toBe(403)
  const change = entries().filter({ hasText: 'CreateNamespace' })
  await change.filter({ hasText: hostile }).filter({ hasText: 'committed' }).waitFor()
  await change.locator('summary').click()
  await change
    .getByText(/^committed \(200\) after .* record \d+ of \d{8}-[0-9a-f]{12}, hash [0-9a-f]{12}$/)
    .waitFor()
  await entries().filter({ hasText: '403 no_rule' }).filter({ hasText: 'alice' }).waitFor()
  expect(await page.locator('img[src="x"]').count()).toBe(0)
  expect(await page.title()).toBe('catalog-gateway console')
  expect(pageErrors).toEqual([])
})

inBrowser('callers are shown with the rules that grant them something', async () => {
  const show = async (id: string) => {
    await page.locator('#access-id').fill(id)
    await page.locator('#access-id').press('Enter')
  }
  await show(hostile)
  await page.getByText(`user ${hostile}`).waitFor()
  await show('prod/sales')
  await page.getByText('group analysts').click()
  await page.getByText(/by sales\/analysts \(.*\)\s+if client.address != "192.0.2.7"/).waitFor()
  await show('prod//sales')
  await page.getByText(/empty/).waitFor()
  expect(
    await page
      .locator('#namespaces option')
      .evaluateAll((all) => all.map((one) => one.getAttribute('value'))),
  ).toContain('prod/sales')
  expect(pageErrors.filter((text) => !text.includes('400'))).toEqual([])
})

inBrowser('a policy is tried: findings and failed tests by line, and decisions', async () => {
  const text = page.getByLabel(/Text, tried beside/)
  const result = page.getByRole('region', { name: 'Result' })
  const attempt = page.getByRole('button', { name: 'Try', exact: true })
  const usual = await text.inputValue()
  expect(await page.locator('#playground-lines').innerText()).toBe(
    usual
      .split('\n')
      .map((_, index) => index + 1)
      .join('\n'),
  )
  await text.fill(usual.replace('effect: allow', 'effect: permit'))
  await attempt.click()
  await result.getByRole('button', { name: /^8:/ }).click()
  expect(await page.evaluate('getSelection().toString()')).toBe('    effect: permit')
  const deny = usual
    .replace('effect: allow', 'effect: deny')
    .replaceAll('[prod, sales', '[tried')
    .replace('users: [ada]', 'any: true')
    .replace('[read]', '[all]')
  await text.fill(deny)
  await page.getByLabel('Caller, or nothing').fill('dev')
  await page.getByLabel('Table or namespace').fill('tried/orders')
  await page.getByRole('button', { name: 'Add a question' }).click()
  await page.getByLabel('Caller, or nothing').last().fill('alice')
  await attempt.click()
  const decisions = result.getByRole('listitem')
  await decisions
    .filter({ hasText: /denied.*dev: QueryTable on tried\/orders.*in force: allowed/ })
    .getByText('why')
    .click()
  await decisions
    .getByText(/by sales-readers\/read \(new policy:7\)/)
    .first()
    .waitFor()
  await decisions.filter({ hasText: /denied.*alice: QueryTable on tried\/orders.*as in force/ }).waitFor()
  await result.getByText('0 of 1 passed').waitFor()
  await result.getByRole('button', { name: '12', exact: true }).click()
  expect(await page.evaluate('getSelection().toString()')).toBe('  - name: readers read')
  expect(pageErrors).toEqual([])
})

inBrowser('a refusal shows its rule', async () => {
  expect((await gateway.post('/v1/namespace/closed/drop', { as: 'alice', body: {} })).status).toBe(403)
  await entries()
    .getByText(/^denied by closed\/alice \(\S+\.yaml:\d+\)$/)
    .first()
    .waitFor()
  expect(pageErrors).toEqual([])
})

inBrowser('the search finds requests in the log, and shows the newest again', async () => {
  const { headers } = await gateway.post('/v1/namespace/closed/drop', { as: 'alice', body: {} })
  await gateway.post('/v1/namespace/found/create', { body: {} })
  const search = page.getByRole('button', { name: 'Search the log' })
  await page.getByLabel('Which is').fill(String(headers['x-request-id']))
  await search.click()
  await page.getByText('1 found', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Show the newest' }).click()
  await page.getByText('the newest, as they happen').waitFor()
  await page.locator('#search [name=object]').fill('found')
  await page.getByLabel('To', { exact: true }).fill('2020-01-31')
  await search.click()
  await page.getByText('0 found', { exact: true }).waitFor()
  await page.getByLabel('To', { exact: true }).fill('')
  await search.click()
  await page.getByText('1 found', { exact: true }).waitFor()
  await entries().filter({ hasText: 'CreateNamespace' }).filter({ hasText: 'found' }).waitFor()
  expect(pageErrors).toEqual([])
})

inBrowser('a completed read is shown as well as a committed change', async () => {
  for (const [kind, path, ending] of [
    ['change', 'create', 'committed'],
    ['read', 'describe', 'completed'],
  ] as const) {
    const { headers } = await gateway.post(`/v1/namespace/ended/${path}`, { body: {} })
    await page.getByLabel('Which is').fill(String(headers['x-request-id']))
    await page.locator('#search [name=kinds]').selectOption(kind)
    await page.getByRole('button', { name: 'Search the log' }).click()
    const entry = entries().filter({ hasText: 'ended' })
    await entry.locator('.good').getByText(ending, { exact: true }).waitFor()
  }
})

inBrowser('the last comparison is shown, and versions that no record explains', async () => {
  await page.getByText(/^not yet; .*audit compare/).waitFor()
  await saveComparison(gateway.auditFolder, {
    time: new Date().toISOString(),
    tables: 2,
    versions: 1200,
    unexplained: 1,
    found: [{ id: ['prod', 'orders'], branch: 'main', version: 7 }],
    problems: [],
  })
  await page.getByText('1 version', { exact: true }).waitFor()
  await page.getByText('prod/orders version 7 of main, unknown time').waitFor()
})

inBrowser('without the gateway, the page shows since when its data is stale', async () => {
  await page.context().setOffline(true)
  await page.getByText(/^not reachable/).waitFor()
  await page.getByText(/^as of \d\d:\d\d:\d\d$/).waitFor()
  expect(await page.locator('body.stale').count()).toBe(1)
  await page.context().setOffline(false)
  await page.getByText(/^as of/).waitFor({ state: 'hidden' })
  expect(await page.locator('body.stale').count()).toBe(0)
})
