import { z } from 'zod'
import { catalogAddressSettings } from 'catalog-gateway/commands'

const milliseconds = z.int().positive()

export const remoteSettingsSchema = z.strictObject({
  ...catalogAddressSettings,
  credential: catalogAddressSettings.credential.describe(
    'Credential of all requests, instead of that of the caller.',
  ),
  timeouts: z
    .strictObject({
      responseHeadersTimeoutMs: milliseconds
        .default(300_000)
        .describe('From the end of the request to the response headers.'),
      responseBodyTimeoutMs: milliseconds
        .default(60_000)
        .describe('Between two chunks of the response body.'),
    })
    .prefault({}),
})

export type RemoteSettings = z.output<typeof remoteSettingsSchema>
