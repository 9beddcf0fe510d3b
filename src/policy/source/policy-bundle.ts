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

export interface PolicyBundle {
  /** Increases with each bundle, so that an older bundle cannot replace a newer one. */
  readonly serial: number
  readonly files: Readonly<Record<string, string>>
}

/**
 * Two lines of JSON: the files, then the Ed25519 signature (RFC 8032) over the bytes of the first line, with the key
 * id.
 */
export function signBundle({ serial, files }: PolicyBundle, key: KeyObject): string {
  const contents = JSON.stringify({ format, serial, files })
  const signature = sign(null, Buffer.from(contents), key).toString('base64')
  return `${contents}\n${JSON.stringify({ key: publicKeyId(createPublicKey(key)), signature })}\n`
}

/**
 * Reads a bundle signed with one of the keys. Throws PolicyError if the bundle is invalid; the content is not parsed
 * before the signature is verified.
 */
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

export function listBundleFiles({ files }: PolicyBundle): readonly PolicyText[] {
  return Object.entries(files)
    .map(([name, text]) => ({ name, bytes: Buffer.from(text) }))
    .toSorted(byName)
}

/** Refuses a bundle whose serial is lower than one already loaded by this process. */
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
      // Taken before the read, so a concurrent write is seen by the next poll. The signature rejects a half-written
      // bundle.
      const before = await stamp()
      const bundle = openSignedBundle(await withFileErrors(file, () => readFile(file, 'utf8')), keys, file)
      const { serial } = bundle
      if (serial < newest)
        throw createPolicyError(file, `has the serial ${serial}, but ${newest} was loaded before`)
      newest = serial
      return { stamp: before, files: listBundleFiles(bundle) }
    },
  }
}

function byName(one: PolicyText, other: PolicyText): number {
  return one.name < other.name ? -1 : 1
}

function parse<Shape>(schema: z.ZodType<Shape>, text: string, file: string, part: string): Shape {
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    throw createPolicyError(file, `is not a policy bundle of format ${format}: ${part} cannot be read`)
  }
}

function createPolicyError(file: string, message: string): PolicyError {
  return new PolicyError([{ file, message }])
}
