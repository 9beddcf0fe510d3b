import { z } from 'zod'
import { path, tlsFiles } from './file-settings.ts'

export const sharedLimitsSchema = z
  .strictObject({
    url: z
      .url({ protocol: /^rediss?$/ })
      .refine(
        isPlainAddress,
        'expected redis:// or rediss:// (TLS) with host, and optionally port and database',
      )
      .describe('URL of Redis or Valkey: rediss://limits.example:6379, with /2 for database 2.'),
    username: z.string().min(1).optional().describe('User name; default: the default user.'),
    passwordFile: path
      .optional()
      .describe('File with the password; read for every connection, like those of tls.'),
    tls: z.strictObject(tlsFiles).optional().describe('TLS settings for rediss.'),
  })
  .refine(({ url, tls }) => tls === undefined || url.startsWith('rediss:'), {
    path: ['tls'],
    message: 'expected a rediss URL, because tls is set',
  })
  .refine(({ username, passwordFile }) => username === undefined || passwordFile !== undefined, {
    path: ['username'],
    message: 'expected passwordFile, because username is set',
  })

export type SharedLimitsSettings = z.output<typeof sharedLimitsSchema>

/** Settings are printed, so an address must not contain a password. */
function isPlainAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { hostname, username, password, search, hash, pathname } = new URL(text)
  const isPlain = [username, password, search, hash].every((part) => part === '')
  return isPlain && hostname !== '' && /^(\/\d{0,4})?$/.test(pathname)
}
