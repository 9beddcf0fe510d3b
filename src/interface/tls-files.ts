import { z } from 'zod'

const path = z.string().min(1)

/** The settings of what is shown and trusted in TLS, as members of a zod object. */
export const tlsFiles = {
  certificateAuthority: path
    .optional()
    .describe('PEM certificates to trust instead of the system certificates.'),
  clientCertificate: z
    .strictObject({
      certificate: path.describe('Its certificate, and those between it and its authority.'),
      key: path.describe('The private key of the certificate.'),
    })
    .optional()
    .describe('PEM files with what the gateway shows of itself in TLS: its certificates, and their key.'),
}
