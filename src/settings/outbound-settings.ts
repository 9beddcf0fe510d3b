import { z } from 'zod'
import { parseNoProxy } from '../outbound/index.ts'
import { originUrl, path } from './setting-types.ts'

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
            (entry) => parseNoProxy(entry) !== undefined,
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
  proxy: proxySchema.optional().describe('HTTP proxy for connections to other hosts; see docs/traffic.md.'),
})
