import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { startGatewayAndUpstream } from '../gateway/support/running-gateway.ts'
import { hasBrowser, startBrowser } from './browser.ts'

it.skipIf(!hasBrowser())('the commands of an empty console work, and fill it', async () => {
  const { gateway } = await startGatewayAndUpstream({
    adjust: (settings) => ({ ...settings, admin: { ...settings.admin, console: true } }),
  })
  const browser = await startBrowser()
  try {
    const page = await browser.newPage()
    await page.goto(`${gateway.adminUrl}/console`)
    const refusals = page.getByRole('list', { name: 'Newest refusals' })
    const copy = refusals.getByRole('button', { name: 'Copy command' })
    await copy.focus()
    const polled = await page.waitForResponse(/console\/data/)
    await polled.finished()
    await page.waitForResponse(/console\/data/)
    expect(await copy.evaluate((button) => button === button.ownerDocument.activeElement)).toBe(true)
    const commands = await page.locator('main code').allInnerTexts()
    expect(new Set(commands).size).toBe(2)
    const env = { ...process.env, KEY: gateway.key('dev') }
    for (const command of commands) await promisify(execFile)('sh', ['-c', command], { env })
    await refusals.getByText('401 missing_credential').first().waitFor()
    await page.getByRole('list', { name: 'Newest changes' }).getByText('CreateNamespace').waitFor()
  } finally {
    await browser.close()
  }
})
