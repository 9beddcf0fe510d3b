import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'

const format = 'catalog-gateway/last-good-policies/v1'

const time = z.iso.datetime()

const contentsSchema = z.strictObject({
  format: z.literal(format),
  revision: z.string(),
  inForceSince: time,
  confirmedAt: time,
  usableUntil: time,
  files: z.array(z.tuple([z.string().min(1), z.string()])),
})

const signatureSchema = z.strictObject({ hmac: z.base64() })

/** The policy files of a revision, as stored for a later start. Times are ISO 8601. */
export interface StoredPolicies {
  /** Revision of the policies of these files alone. */
  readonly revision: string
  readonly inForceSince: string
  /** When the present files were last known to be these. */
  readonly confirmedAt: string
  readonly usableUntil: string
  /** Names and texts, in the order of the names. */
  readonly files: readonly (readonly [name: string, text: string])[]
}

/** Two lines of JSON: the policies, then HMAC-SHA-256 with the key over the bytes of the first line. */
export function formatStoredPolicies(
  { revision, inForceSince, confirmedAt, usableUntil, files }: StoredPolicies,
  key: Uint8Array,
): string {
  const contents = JSON.stringify({ format, revision, inForceSince, confirmedAt, usableUntil, files })
  return `${contents}\n${JSON.stringify({ hmac: authenticate(contents, key).toString('base64') })}\n`
}

/** Reads policies that were stored with this key; undefined for any other text, which is not parsed. */
export function parseStoredPolicies(text: string, key: Uint8Array): StoredPolicies | undefined {
  const [contents = '', signature = '', ...rest] = text.split('\n')
  if (rest.length !== 1 || rest[0] !== '') return undefined
  const { hmac } = parseJson(signatureSchema, signature) ?? {}
  if (hmac === undefined) return undefined
  const [actual, expected] = [Buffer.from(hmac, 'base64'), authenticate(contents, key)]
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return undefined
  return parseJson(contentsSchema, contents)
}

function authenticate(contents: string, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(contents).digest()
}

function parseJson<Shape>(schema: z.ZodType<Shape>, text: string): Shape | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
