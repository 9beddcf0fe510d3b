import { z } from 'zod'
import { operations } from '../interface/operations.ts'
import { permissionGroups } from '../interface/permissions.ts'
import { sharedSchema } from './shared/shared-settings.ts'

const count = z.int().positive()
const perSecond = z.number().positive().max(1e12)
const secondsOfDay = 86_400

/** Which requests a limit is about. */
const selection = {
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'expected small letters, digits and dashes')
    .describe('What callers are told that they have reached.'),
  operations: z
    .array(z.string().refine(holdsOperations, 'expected an operation, or a group of them as in policies'))
    .min(1)
    .default(['all'])
    .describe('Operations, and groups of them as in policies: those that it is about.'),
  principals: z.array(z.string().min(1)).min(1).optional().describe('The only callers that it is about.'),
  namespaces: z
    .array(z.array(z.string().min(1)))
    .min(1)
    .optional()
    .describe('It is about what lies in these alone, each as the list of its parts.'),
}

const sharer = z.enum(['principal', 'namespace', 'address', 'all'])
const sharerMeaning =
  'Who shares it: each principal has one of its own, each namespace (of those in the list, or else of the top ones), ' +
  'each address of clients (of IPv6, each network of 64 bits), or all share one.'

const rateSchema = z.strictObject({
  ...selection,
  per: sharer.describe(sharerMeaning),
  perSecond: perSecond.describe('Requests that are let in, in the long run.'),
  burst: count
    .optional()
    .describe('Requests at once after a pause; as many as in a second, and at least one, unless set.'),
})

const bytesSchema = z
  .strictObject({
    ...selection,
    per: sharer.describe(sharerMeaning),
    direction: z.enum(['up', 'down', 'both']).describe('Bodies of requests, answers, or both together.'),
    perSecond: perSecond.optional().describe('Bytes in the long run; this or perDay.'),
    perDay: z
      .number()
      .positive()
      .max(1e15)
      .optional()
      .describe('Bytes in the long run, which come back evenly over the day.'),
    burst: count
      .optional()
      .describe('Bytes at once after a pause; as many as in a second, or in a day, unless set.'),
  })
  .refine(
    ({ perSecond, perDay }) => (perSecond === undefined) !== (perDay === undefined),
    'expected either perSecond or perDay',
  )

const concurrencySchema = z.strictObject({
  ...selection,
  per: sharer.describe(sharerMeaning),
  maximum: count.describe('Requests whose answer is not over.'),
})

const failedAuthenticationsSchema = z.strictObject({
  perSecond: perSecond.describe('Refused credentials of one address, in the long run.'),
  burst: count.default(20).describe('Refused credentials of one address at once, after a pause.'),
})

/** What callers may take of the gateway, and what is refused where it is too much in all: a part of `limits`. */
export const fairnessSettings = {
  rates: z
    .array(rateSchema)
    .default([])
    .describe('How many requests are let in. What is over is answered 429, with retry-after.'),
  bytes: z
    .array(bytesSchema)
    .default([])
    .describe('How many bytes are let through. What is under way is not cut off: the next request waits.'),
  concurrency: z
    .array(concurrencySchema)
    .default([])
    .describe(
      'How many requests run at a time, so that slow ones of one caller do not take every connection.',
    ),
  shared: sharedSchema
    .optional()
    .describe('Where several gateways count rates and bytes together; each counts for itself unless set.'),
  failedAuthentications: failedAuthenticationsSchema
    .optional()
    .describe(
      'Beyond it an address is answered 429 without a look at its credentials, also at good ones. Behind a load ' +
        'balancer all clients share its address.',
    ),
  shedAfterMs: z
    .int()
    .positive()
    .max(2_147_483_647)
    .default(1_000)
    .describe(
      'Where requests wait longer for a connection to an upstream, or the process lags by more, it is overloaded: ' +
        'what carries rows as Arrow is refused, then other work on rows, then listings.',
    ),
}

const fairnessSchema = z.strictObject(fairnessSettings)

/** Every limit that tells callers apart, with defaults filled in. */
export type FairnessSettings = z.output<typeof fairnessSchema>
export type RateSettings = z.output<typeof rateSchema>
export type ByteSettings = z.output<typeof bytesSchema>
export type ConcurrencySettings = z.output<typeof concurrencySchema>
export type FailedAuthenticationSettings = z.output<typeof failedAuthenticationsSchema>

/** Which requests a limit is about, and who shares it. */
export type Selection = Pick<RateSettings, 'name' | 'per' | 'operations' | 'principals' | 'namespaces'>

/** What a limit is about can be said in the words of policies; a group of mere permissions holds no operation. */
function holdsOperations(name: string): boolean {
  return (permissionGroups.get(name) ?? [name]).some((member) => member in operations)
}

/** Names that stand for two limits: callers could not tell which one they have reached. */
export function repeatedNames({ rates, bytes, concurrency }: FairnessSettings): readonly string[] {
  const names = [...rates, ...bytes, ...concurrency].map(({ name }) => name)
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
}

/** Bytes that come back in a second, and those that are there after a pause. */
export function bytePace({ perSecond, perDay = 0, burst }: ByteSettings): {
  perSecond: number
  burst: number
} {
  return perSecond === undefined
    ? { perSecond: perDay / secondsOfDay, burst: burst ?? Math.ceil(perDay) }
    : { perSecond, burst: burst ?? Math.ceil(perSecond) }
}
