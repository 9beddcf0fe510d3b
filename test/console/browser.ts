import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'
import { isProvided } from '../support/requirements.ts'

const executablePath = '/usr/bin/chromium'

export function hasBrowser(): boolean {
  return isProvided('chromium', () => existsSync(executablePath))
}

/** Starts a browser without background requests. The caller must close it. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}
