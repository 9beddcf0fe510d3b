import { z } from 'zod'
import { isOperationName, permissionGroups } from '../catalog-api/index.ts'
import { dashedName, isPlainUrl, nonEmptyText, path, tlsFiles } from '../settings/index.ts'

const positiveCount = z.int().positive()
const perSecond = z.number().positive().max(1e12)

const selectionFields = {
  name: dashedName.describe('Name of the limit in error messages.'),
  operations: z
    .array(z.string().refine(selectsOperations, 'expected an operation, or a group of them as in policies'))
    .min(1)
    .default(['all'])
    .describe('Operations, and groups as in policies, that the limit applies to.'),
  principals: z
    .array(nonEmptyText)
    .min(1)
    .optional()
    .describe('Principals that the limit applies to; default: all.'),
  namespaces: z
    .array(z.array(nonEmptyText))
    .min(1)
    .optional()
    .describe('Namespaces that the limit applies to, each as a list of names; default: all.'),
  per: z
    .enum(['principal', 'namespace', 'address', 'all'])
    .describe(
      'Scope of the limit: each principal, each namespace (of the list, or else each top-level namespace), ' +
        'each client address (IPv6: each /64 network), or all together.',
    ),
}

const rateSchema = z.strictObject({
  ...selectionFields,
  perSecond: perSecond.describe('Sustained requests a second.'),
  burst: positiveCount
    .optional()
    .describe('Burst of requests; default: one second of requests, at least one.'),
})

const concurrencySchema = z.strictObject({
  ...selectionFields,
  maxRequests: positiveCount.describe('Maximum concurrent requests.'),
})

export const sharedLimitsSchema = z
  .strictObject({
    url: z
      .string()
      .refine(
        (text) => /^rediss?:/.test(text) && isPlainUrl(text, /^(\/\d{0,4})?$/),
        'expected redis:// or rediss:// (TLS) with host, and optionally port and database',
      )
      .describe('URL of Redis or Valkey: rediss://limits.example:6379, with /2 for database 2.'),
    username: nonEmptyText.optional().describe('User name; default: the default user.'),
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

export const callerLimitFields = {
  rates: z
    .array(rateSchema)
    .default([])
    .describe('Rate limits. Requests over a limit get 429 with retry-after.'),
  concurrency: z
    .array(concurrencySchema)
    .default([])
    .describe('Concurrency limits, so that slow requests of one caller do not use all connections.'),
  shared: sharedLimitsSchema
    .optional()
    .describe(
      'Redis or Valkey in which several gateways share rate limits; by default each gateway counts alone.',
    ),
  failedAuthentications: z
    .strictObject({
      perSecond: perSecond.describe(
        'Sustained failed authentications of one address a second, after a burst of 20.',
      ),
    })
    .optional()
    .describe(
      'Limit of failed authentications of an address; beyond it, all its requests get 429, even with valid credentials. Behind a load ' +
        'balancer all clients share its address.',
    ),
}

const callerLimitSchema = z.strictObject(callerLimitFields)

export type CallerLimitSettings = z.output<typeof callerLimitSchema>

/** Limits use the groups of policies, except those that consist of extra permissions only. */
function selectsOperations(name: string): boolean {
  return (permissionGroups.get(name) ?? [name]).some(isOperationName)
}
