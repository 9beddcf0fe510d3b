import { z } from 'zod'

/** URL of a receiver other than a catalog; must not contain a password. */
export const receiverUrl = z
  .url({ protocol: /^https?$/ })
  .refine(isWithoutPassword, 'expected a URL without user and password; set `credential` to authenticate')

export const receiverCredential = z.strictObject({
  header: z
    .string()
    .regex(/^[a-z][a-z0-9-]*$/)
    .default('authorization')
    .describe('Header of the credential.'),
  file: z.string().min(1).describe('File with the header value; read for every batch.'),
})

function isWithoutPassword(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}
