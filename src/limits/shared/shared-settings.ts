import { z } from 'zod'
import { absoluteTlsFiles, tlsFiles } from '../../lib/tls/tls-files.ts'

const path = z.string().min(1)

/** Where rates and bytes are counted for several gateways together: `limits.shared`. */
export const sharedSchema = z
  .strictObject({
    address: z
      .url({ protocol: /^rediss?$/ })
      .refine(
        isPlainAddress,
        'expected redis:// or rediss:// (TLS), a host, and no more than port and database',
      )
      .describe(
        'Where Redis or Valkey answers: rediss://limits.example:6379, with /2 behind it for database 2.',
      ),
    username: z.string().min(1).optional().describe('Who the gateway is there; the default user unless set.'),
    passwordFile: path
      .optional()
      .describe('A file that holds the password; read again for every connection, as are those of tls.'),
    tls: z.strictObject(tlsFiles).optional().describe('For rediss, what is not as usual.'),
    onFailure: z
      .enum(['open', 'closed'])
      .default('open')
      .describe(
        'While it cannot be reached: open, each gateway counts for itself; closed, what these limits are about is ' +
          'answered 503.',
      ),
    timeoutMs: z
      .int()
      .min(10)
      .max(60_000)
      .default(500)
      .describe('Without an answer for so long it counts as lost. No request waits for it.'),
    prefix: z
      .string()
      .regex(/^[a-zA-Z0-9._:-]{1,64}$/, 'expected letters, digits, dots, colons, dashes and underscores')
      .default('catalog-gateway')
      .describe('Begins every key. Gateways of one prefix share their limits.'),
  })
  .refine(({ address, tls }) => tls === undefined || address.startsWith('rediss:'), {
    path: ['tls'],
    message: 'expected a rediss address, since there are settings of TLS for it',
  })
  .refine(({ username, passwordFile }) => username === undefined || passwordFile !== undefined, {
    path: ['username'],
    message: 'expected a passwordFile, since there is a user',
  })

/** The same with every default filled in. */
export type SharedSettings = z.output<typeof sharedSchema>

/** The same settings with every path absolute. */
export function withAbsoluteSharedPaths(
  { tls, passwordFile, ...settings }: SharedSettings,
  absolute: (path: string) => string,
): SharedSettings {
  return {
    ...settings,
    ...(tls && { tls: absoluteTlsFiles(tls, absolute) }),
    ...(passwordFile !== undefined && { passwordFile: absolute(passwordFile) }),
  }
}

/** Settings are printed: no password stands in an address. */
function isPlainAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { hostname, username, password, search, hash, pathname } = new URL(text)
  const isPlain = [username, password, search, hash].every((part) => part === '')
  return isPlain && hostname !== '' && /^(\/\d{0,4})?$/.test(pathname)
}
