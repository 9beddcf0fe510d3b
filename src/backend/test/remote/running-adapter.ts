import { onTestFinished } from 'vitest'
import { backendSettingsSchema } from '../../settings/backend-settings.ts'
import { startBackend } from '../../server.ts'
import { call } from '../support/running-backend.ts'

/** Starts a server in front of the catalog at that URL, for one test. */
export async function runningAdapter(url: string, remote: object = {}, settings: object = {}) {
  const backend = await startBackend(
    backendSettingsSchema.parse({
      listen: { port: 0 },
      log: { level: 'silent' },
      ...settings,
      catalog: { remote: { url, ...remote } },
    }),
  )
  onTestFinished(backend.close)
  const send = (method: string, target: string, body?: unknown, headers?: Record<string, string>) =>
    call(backend.url, method, target, body, headers)
  return {
    url: backend.url,
    close: backend.close,
    send,
    /** A body that is neither bytes nor text is sent as JSON. */
    post: (target: string, body?: unknown, headers?: Record<string, string>) =>
      send('POST', target, body, headers),
    get: (target: string, headers?: Record<string, string>) => send('GET', target, undefined, headers),
  }
}
