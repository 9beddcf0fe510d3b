import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { allowEverything, openGateway, type TestedGateway } from '../gateway/support/open-gateway.ts'
import { serveListings } from '../gateway/support/listing-upstream.ts'
import { startRecordingUpstream, type RecordingUpstream } from '../gateway/support/recording-upstream.ts'
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
  upstream.answering = serveListings({
    namespaces: { '': ['lab', 'prod'], lab: Array.from({ length: 201 }, (_, index) => `team${index}`) },
  })
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

/** A namespace in the tree that unfolds. */
const inTree = (name: string) => page.locator('#tree summary').getByText(name, { exact: true })

inBrowser('refusals and changes are shown live, and no name becomes markup', async () => {
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
  await refusals.getByText('alice', { exact: true }).waitFor()
  expect(await page.locator('img[src="x"]').count()).toBe(0)
  expect(await page.title()).toBe('catalog-gateway console')
  expect(pageErrors).toEqual([])
})

inBrowser('the tree and the matrix show permissions and their rules', async () => {
  await page.getByRole('button', { name: hostile, exact: true }).click()
  await page.getByRole('button', { name: `user ${hostile}` }).waitFor()
  await inTree('prod').click()
  await page.getByRole('button', { name: 'sales', exact: true }).click()
  const caller = page.getByRole('button', { name: 'group analysts' })
  await page.getByRole('row', { name: /^group analysts – all, if – / }).waitFor()
  await caller.press('Enter')
  await page.getByText('by sales/analysts (').waitFor()
  await page.getByText('client.address != "192.0.2.7"').waitFor()
  await page.getByLabel('Object').fill('prod//sales')
  await page.getByLabel('Object').press('Enter')
  await page.getByText(/empty/).waitFor()
  expect(pageErrors.filter((text) => !text.includes('400'))).toEqual([])
})

inBrowser('with a credential, the tree has the namespaces of the catalog, page by page', async () => {
  await inTree('prod').waitFor()
  expect(await inTree('lab').count()).toBe(0)
  const field = page.getByLabel('API key or token')
  await field.fill('unknown-key')
  await field.press('Enter')
  await page
    .getByRole('alert')
    .getByText(/malformed API key/)
    .waitFor()
  await field.fill(gateway.key('dev'))
  await field.press('Enter')
  await inTree('lab').press('Enter')
  await inTree('team199').waitFor()
  expect(await inTree('team200').count()).toBe(0)
  await page.getByRole('button', { name: 'more in lab' }).press('Enter')
  await inTree('team200').click()
  await page.getByRole('heading', { name: 'On lab/team200' }).waitFor()
  expect(await field.inputValue()).toBe('')
  expect(pageErrors.filter((text) => !/40[14]/.test(text))).toEqual([])
})

inBrowser(
  'a policy is tried: its findings by line, a decision, and the calls that would change',
  async () => {
    await gateway.post('/v1/namespace/tried/create', { body: {} })
    const text = page.getByLabel(/Text, tried beside/)
    const result = page.getByRole('region', { name: 'Result' })
    const usual = await text.inputValue()
    await text.fill(usual.replace('effect: allow', 'effect: permit'))
    await page.getByRole('button', { name: 'Try', exact: true }).click()
    await result.getByRole('button', { name: /^8:/ }).click()
    expect(await page.evaluate('getSelection().toString()')).toBe('    effect: permit')
    const deny = usual
      .replace('effect: allow', 'effect: deny')
      .replace('[prod, sales]', '[tried]')
      .replace('users: [ada]', 'any: true')
      .replace('[read]', '[all]')
    await text.fill(deny)
    await page.getByLabel('Caller, or nothing').fill('dev')
    await page.getByLabel('Table or namespace').fill('tried/orders')
    await page.getByLabel('Table or namespace').press('Enter')
    await result.getByText('denied by sales-readers/read (new policy:7); in force: allowed').waitFor()
    await result.getByRole('row', { name: /^CreateNamespace dev 1 allowed denied by .* tried$/ }).waitFor()
    await page.getByLabel('File').selectOption('policies.yaml')
    await expect.poll(() => text.inputValue()).toContain('everything')
    expect(pageErrors).toEqual([])
  },
)

inBrowser('a refusal shows its rule and a command that explains it', async () => {
  expect((await gateway.post('/v1/namespace/closed/drop', { as: 'alice', body: {} })).status).toBe(403)
  const refusal = page.getByRole('list', { name: 'Newest refusals' }).getByRole('listitem')
  const denied = refusal.filter({ hasText: 'closed' }).first()
  await denied.getByText('why: denied by closed/alice').click()
  await denied.getByText(/^closed\/alice \(\S+\.yaml:\d+\)$/).waitFor()
  const command = await denied.locator('code').innerText()
  expect(command).toMatch(
    /^catalog-gateway policy explain --policies policies --as=alice .*--fact=address=\S+ -- DropNamespace closed$/,
  )
  expect(pageErrors).toEqual([])
})

inBrowser('the search filters refusals and changes', async () => {
  const { headers } = await gateway.post('/v1/namespace/closed/drop', { as: 'alice', body: {} })
  await gateway.get('/v1/namespace/$/list', { as: null })
  const refusals = page.getByRole('list', { name: 'Newest refusals' }).getByRole('listitem')
  const ofNobody = refusals.filter({ hasText: '401 missing_credential' })
  await ofNobody.first().waitFor()
  const search = page.getByRole('searchbox')
  await search.fill(String(headers['x-request-id']))
  await page.getByText(/^1 of \d+ found$/).waitFor()
  await search.fill('closed/alice')
  expect(await ofNobody.first().isVisible()).toBe(false)
  await refusals.filter({ hasText: 'denied' }).first().waitFor()
  await search.fill('nothing has this name')
  await page.getByText(/^0 of \d+ found$/).waitFor()
})

inBrowser('a full denial is named beside a condition', async () => {
  await page.getByLabel('Object').fill('closed')
  await page.getByLabel('Object').press('Enter')
  await page
    .getByRole('row', { name: /not user alice/ })
    .first()
    .waitFor()
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
