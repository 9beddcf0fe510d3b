import { accessSync, constants } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'

const executablePath = '/usr/bin/chromium'

/** Whether there is a browser on this machine. */
export function hasBrowser(): boolean {
  try {
    accessSync(executablePath, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Starts the browser; it asks for nothing but the pages that it is told to open. Whoever starts it closes it. */
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
