import { z } from 'zod'
import { resolveTlsFiles, tlsFiles } from '../lib/tls/tls-files.ts'

const path = z.string().min(1)

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
    onFailure: z
      .enum(['open', 'closed'])
      .default('open')
      .describe(
        'If the server is unreachable: open, each gateway counts alone; closed, limited requests get ' +
          '503.',
      ),
    timeoutMs: z
      .int()
      .min(10)
      .max(60_000)
      .default(500)
      .describe('Timeout of the server. Requests do not wait for it.'),
    keyPrefix: z
      .string()
      .regex(/^[a-zA-Z0-9._:-]{1,64}$/, 'expected letters, digits, dots, colons, dashes and underscores')
      .default('catalog-gateway')
      .describe('Prefix of all keys. Gateways with the same prefix share limits.'),
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

export function resolveSharedLimitsPaths(
  { tls, passwordFile, ...settings }: SharedLimitsSettings,
  absolute: (path: string) => string,
): SharedLimitsSettings {
  return {
    ...settings,
    ...(tls && { tls: resolveTlsFiles(tls, absolute) }),
    ...(passwordFile !== undefined && { passwordFile: absolute(passwordFile) }),
  }
}

/** Settings are printed, so an address must not contain a password. */
function isPlainAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { hostname, username, password, search, hash, pathname } = new URL(text)
  const isPlain = [username, password, search, hash].every((part) => part === '')
  return isPlain && hostname !== '' && /^(\/\d{0,4})?$/.test(pathname)
}
