import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { hasBrowser, startBrowser } from '../../console/browser.ts'
import { startGatewayWithRoute } from '../../gateway/support/pass-through-gateway.ts'

// Pages of pass-through routes have the origin of /docs, in which callers enter their keys. None of them may read it: by
// the window that it opened, in a frame, or by a service worker of the whole origin.

const isInstalled = hasBrowser()
if (!isInstalled)
  console.warn('SKIPPED: the test of /docs beside a hostile page, as there is no Chromium on this machine.')
const inBrowser = it.skipIf(!isInstalled)

let browser: Browser

beforeAll(async () => {
  if (isInstalled) browser = await startBrowser()
})

afterAll(() => browser?.close())

async function openHostilePage() {
  const { gateway, application } = await startGatewayWithRoute({ route: { allow: 'anyone' } })
  application.answering = (request, response) => {
    const isScript = request.target.endsWith('.js')
    response.writeHead(200, {
      'content-type': isScript ? 'text/javascript' : 'text/html',
      'service-worker-allowed': '/',
    })
    response.end(isScript ? '' : '<!doctype html><title>hostile</title>')
  }
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  await page.goto(`${gateway.url}/ui/`)
  expect(await page.title()).toBe('hostile')
  return { page, context }
}

inBrowser('a page that opens /docs has no access to its window', async () => {
  const { page, context } = await openHostilePage()
  const opened = context.waitForEvent('page')
  await page.evaluate("globalThis.opened = open('/docs'); undefined")
  const docs = await opened
  await docs.getByText('Describes a table', { exact: true }).waitFor()
  expect(await page.evaluate('globalThis.opened.closed')).toBe(true)
  expect(await docs.evaluate('globalThis.opener')).toBe(null)
})

inBrowser('a page cannot show /docs in a frame', async () => {
  const { page } = await openHostilePage()
  const text = await page.evaluate(`new Promise((resolve) => {
    const frame = document.createElement('iframe')
    frame.src = '/docs'
    frame.onload = () => {
      try { resolve(frame.contentDocument?.body.innerHTML ?? 'none') } catch { resolve('none') }
    }
    document.body.append(frame)
  })`)
  expect(text).toBe('none')
})

inBrowser('a service worker of a route does not control /docs', async () => {
  const { page } = await openHostilePage()
  const registered = await page.evaluate(
    "navigator.serviceWorker.register('/ui/worker.js', { scope: '/' }).then(() => 'registered', String)",
  )
  expect(registered).toContain('SecurityError')
})
