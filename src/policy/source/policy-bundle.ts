import { createPublicKey, sign, verify, type KeyObject } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { z } from 'zod'
import { publicKeyId } from '../../lib/tls/public-key-id.ts'
import { PolicyError } from '../language/policy-error.ts'
import { withFileErrors } from './policy-files.ts'
import type { PolicyLocation, PolicyText } from './policy-location.ts'

const format = 'catalog-gateway/policy-bundle/v1'
const maxBytes = 64 * 1024 * 1024

const contentsSchema = z.strictObject({
  format: z.literal(format),
  serial: z.int().positive(),
  files: z.record(z.string().min(1), z.string()),
})

const signatureSchema = z.strictObject({ key: z.string(), signature: z.base64() })

/** What is signed: the files of a folder of policies, by name. */
export interface PolicyBundle {
  /** Grows from bundle to bundle: an older one never takes the place of a newer. */
  readonly serial: number
  readonly files: Readonly<Record<string, string>>
}

/**
 * A bundle as text: one line of JSON that holds the files, and one that holds the Ed25519 signature (RFC 8032) over
 * the bytes of the first, with the key that made it. Whoever wants to see what was signed reads the first line.
 */
export function signBundle({ serial, files }: PolicyBundle, key: KeyObject): string {
  const contents = JSON.stringify({ format, serial, files })
  const signature = sign(null, Buffer.from(contents), key).toString('base64')
  return `${contents}\n${JSON.stringify({ key: publicKeyId(createPublicKey(key)), signature })}\n`
}

/** Reads a bundle that one of the keys signed. Throws PolicyError; nothing of an unsigned one is looked at. */
export function openSignedBundle(text: string, keys: readonly KeyObject[], file: string): PolicyBundle {
  const [contents = '', ...rest] = text.split('\n')
  if (rest.length !== 2 || rest[1] !== '')
    throw createPolicyError(file, 'is not a policy bundle: expected two lines of JSON')
  const { key: fingerprint, signature } = parse(signatureSchema, rest[0] ?? '', file, 'its signature')
  const key = keys.find((candidate) => publicKeyId(candidate) === fingerprint)
  if (key === undefined)
    throw createPolicyError(file, `is signed with the key ${fingerprint}, which is not trusted here`)
  if (!verify(null, Buffer.from(contents), key, Buffer.from(signature, 'base64'))) {
    throw createPolicyError(file, 'has an invalid signature')
  }
  const { serial, files } = parse(contentsSchema, contents, file, 'it')
  return { serial, files }
}

/** The files of a bundle, as a folder would hold them. */
export function policyTextsOfBundle({ files }: PolicyBundle): readonly PolicyText[] {
  return Object.entries(files)
    .map(([name, text]) => ({ name, bytes: Buffer.from(text) }))
    .toSorted(byName)
}

/**
 * A file that holds a signed bundle, to be followed like a folder. While this process lives, a bundle with a lower
 * serial than one before is refused.
 */
export function createBundleLocation(file: string, keys: readonly KeyObject[]): PolicyLocation {
  let newest = 0
  const stamp = async (): Promise<string> => {
    const { dev, ino, size, mtimeNs, ctimeNs } = await withFileErrors(file, () =>
      stat(file, { bigint: true }),
    )
    if (size > maxBytes) throw createPolicyError(file, `has ${size} bytes; expected at most ${maxBytes}`)
    return [dev, ino, size, mtimeNs, ctimeNs].join(':')
  }
  return {
    name: file,
    stamp,
    async read() {
      // Whatever is written meanwhile shows at the next look; a half-written bundle has no signature that fits.
      const before = await stamp()
      const bundle = openSignedBundle(await withFileErrors(file, () => readFile(file, 'utf8')), keys, file)
      const { serial } = bundle
      if (serial < newest)
        throw createPolicyError(file, `has the serial ${serial}, but ${newest} was loaded before`)
      newest = serial
      return { stamp: before, files: policyTextsOfBundle(bundle) }
    },
  }
}

function byName(one: PolicyText, other: PolicyText): number {
  return one.name < other.name ? -1 : 1
}

function parse<Shape>(schema: z.ZodType<Shape>, text: string, file: string, what: string): Shape {
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    throw createPolicyError(file, `is not a policy bundle of format ${format}: ${what} cannot be read`)
  }
}

function createPolicyError(file: string, message: string): PolicyError {
  return new PolicyError([{ file, message }])
}
