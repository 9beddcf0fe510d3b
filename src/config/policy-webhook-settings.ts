import { z } from 'zod'
import { listenHost } from './listen-address.ts'

const path = z.string().min(1)

export const policyWebhookSchema = z
  .strictObject({
    host: listenHost.default('127.0.0.1').describe('Listen address; 0.0.0.0 for all interfaces.'),
    port: z.int().min(0).max(65_535).describe('0 picks a free one.'),
    certFile: path.describe('PEM file: the certificate chain of the webhook.'),
    keyFile: path.describe('PEM file: the private key of the certificate.'),
    clientCaFile: path.describe(
      'PEM file: the CA that issues the client certificates of API servers, and no others.',
    ),
  })
  .describe(
    'A validating admission webhook for AccessPolicy resources, over TLS with client certificates. The files may change ' +
      'at run time.',
  )

export type PolicyWebhookSettings = z.output<typeof policyWebhookSchema>

export function resolvePolicyWebhookPaths(
  { certFile, keyFile, clientCaFile, ...settings }: PolicyWebhookSettings,
  absolute: (path: string) => string,
): PolicyWebhookSettings {
  return {
    ...settings,
    certFile: absolute(certFile),
    keyFile: absolute(keyFile),
    clientCaFile: absolute(clientCaFile),
  }
}
