import { join } from 'node:path'
import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { TestedGateway } from '../gateway/support/open-gateway.ts'
import { hasBrowser, startBrowser } from './browser.ts'
import { openConsole, openDocs, sendSampleRequests, startSampleGateway } from './sample-pages.ts'

const isInstalled = hasBrowser()
const inBrowser = it.skipIf(!isInstalled)

/** A folder for a picture of each view at each width, for people to look at. */
const screenshots = process.env['SCREENSHOTS']

let browser: Browser
let gateway: TestedGateway

beforeAll(async () => {
  if (!isInstalled) return
  browser = await startBrowser()
  gateway = await startSampleGateway()
  await sendSampleRequests(gateway)
})

afterAll(async () => {
  await browser?.close()
  await gateway?.close()
})

const views = {
  'the console': openConsole,
  'a policy tried in the console': async (page: Page) => {
    await openConsole(page, gateway)
    await page.getByLabel(/Text, tried beside/).press('ControlOrMeta+End')
    await page.keyboard.type(
      'restrict: [{ id: part, subjects: { users: [ada] }, tables: [orders], columns: { id: number } }]',
    )
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Try', exact: true }).click()
    await page
      .getByText(/^allowed$/)
      .first()
      .waitFor()
  },
  'an operation in /docs': openDocs,
  'the credentials in /docs': async (page: Page) => {
    await page.goto(`${gateway.url}/docs`)
    await page.getByRole('button', { name: 'Authorize' }).click()
  },
  'the schemas in /docs': async (page: Page) => {
    await page.goto(`${gateway.url}/docs`)
    await page.getByRole('searchbox').fill('DropNamespace')
    await page.getByRole('button', { name: 'Schemas' }).click()
    await page.getByRole('button', { name: 'ErrorResponse' }).click()
  },
}

inBrowser.for(Object.entries(views))(
  '%s: accessible at every width, in light and dark',
  async ([view, open]) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    page.setDefaultTimeout(20_000)
    await open(page, gateway)
    await page.evaluate(axe.source)
    for (const width of [390, 820, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        const found = {
          width,
          colorScheme,
          violations: await findViolations(page),
          scrollWidth: await page.evaluate('document.documentElement.scrollWidth'),
        }
        if (screenshots !== undefined)
          await page.screenshot({
            path: join(screenshots, `${view}-${width}-${colorScheme}.png`.replaceAll(/[ /]/g, '-')),
            fullPage: true,
          })
        expect(found).toEqual({ width, colorScheme, violations: [], scrollWidth: width })
      }
    }
  },
)

/** Of Swagger UI's own markup, with the reason. */
const excluded = [
  // Named "Copy" by generated content, which axe does not read.
  '.copy-to-clipboard button',
]

/** The rules that elements break, with the elements. */
function findViolations(page: Page): Promise<readonly string[]> {
  return page.evaluate(async (exclude) => {
    const { run } = (globalThis as unknown as { axe: typeof axe }).axe
    const { violations } = await run({ exclude }, { preload: false, resultTypes: ['violations'] })
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  }, excluded)
}
