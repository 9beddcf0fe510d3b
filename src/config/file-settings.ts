import { z } from 'zod'

/** The name of a file or a folder; a relative one is relative to the folder of the settings file (`convertValues`). */
export const path = z.string().min(1).meta({ path: true })

/** TLS settings of a client, as members of a zod object. */
export const tlsFiles = {
  caFile: path
    .optional()
    .describe('PEM file: CA certificates to trust instead of those of the system and of `outbound.caFile`.'),
  clientCertificate: z
    .strictObject({
      certFile: path.describe('PEM file: the certificate chain of the gateway.'),
      keyFile: path.describe('PEM file: the private key of the certificate.'),
    })
    .optional()
    .describe('Client certificate of the gateway.'),
}
