import { z } from 'zod'
import { path } from './file-settings.ts'
import { parseNoProxy } from '../lib/outbound/no-proxy.ts'

/** URL of a server without anything but scheme, host and port: other parts may contain a secret, and would be printed. */
export const originUrl = z
  .url({ protocol: /^https?$/ })
  .refine(isOrigin, 'expected scheme, host and port only')

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { username, password, pathname, search, hash } = new URL(text)
  return [username, password, search, hash].every((part) => part === '') && pathname === '/'
}

const proxySchema = z
  .strictObject({
    url: originUrl
      .optional()
      .describe(
        'URL of an HTTP proxy, which tunnels connections with CONNECT; default: HTTPS_PROXY for https URLs and HTTP_PROXY for ' +
          'http URLs, of the environment.',
      ),
    credentialFile: path
      .optional()
      .describe('File with USER:PASSWORD for the proxy of `url`; reloaded when it changes.'),
    noProxy: z
      .array(
        z
          .string()
          .refine(
            (entry) => parseNoProxy([entry]).malformed.length === 0,
            'expected "*", a host name, ".domain", an IP address or a CIDR range, with a port except for "*" and ranges',
          ),
      )
      .optional()
      .describe(
        'Hosts that are reached directly: names (with their subdomains), .domains, IP addresses, CIDR ranges, or * for all; ' +
          'default: NO_PROXY of the environment. Loopback addresses and localhost always are.',
      ),
  })
  .refine(
    ({ url, credentialFile }) => credentialFile === undefined || url !== undefined,
    'expected url, because credentialFile is set',
  )

/** How connections to other hosts are opened. */
export const outboundSchema = z.strictObject({
  caFile: path
    .optional()
    .describe(
      'PEM file: CA certificates to trust besides those of the system, for all connections without a `caFile` of their own; ' +
        'reloaded when it changes.',
    ),
  proxy: proxySchema.optional().describe('HTTP proxy for connections to other hosts; see docs/networks.md.'),
})
