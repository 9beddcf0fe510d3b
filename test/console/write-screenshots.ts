import { fileURLToPath } from 'node:url'
import { startBrowser } from './browser.ts'
import { openConsole, openDocs, sendSampleRequests, startSampleGateway } from './sample-pages.ts'

/** Writes the images of the documentation: `npm run screenshots`. */
const gateway = await startSampleGateway()
const browser = await startBrowser()
try {
  await sendSampleRequests(gateway)
  for (const [name, height, open] of [
    ['console', 1000, openConsole],
    ['docs', 760, openDocs],
  ] as const) {
    const page = await browser.newPage({ viewport: { width: 1100, height }, colorScheme: 'light' })
    await open(page, gateway)
    await page.evaluate(
      'document.activeElement.blur(); scrollTo(0, 0); document.querySelector("#entries")?.scrollTo(0, 0)',
    )
    await page.screenshot({ path: fileURLToPath(new URL(`../../docs/images/${name}.png`, import.meta.url)) })
  }
} finally {
  await browser.close()
  await gateway.close()
}
