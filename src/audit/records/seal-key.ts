import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  hkdfSync,
  sign,
  verify,
  type KeyObject,
} from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreMissing, writeAtomically } from '../../lib/index.ts'

export type SealVerifier = ReturnType<typeof createSealVerifier>
export type SealKey = ReturnType<typeof createSealKey>

const privateKeyFile = 'seal-key.pem'
const publicKeyFile = 'seal-public-key.pem'

/**
 * Reads a PEM key (PKCS #8, Ed25519); without a file, one in the folder, generated if missing, with its public half beside
 * it, whose path `onGenerated` receives. Throws if the key is unusable.
 */
export async function openSealKey(
  folder: string,
  file: string | undefined,
  onGenerated?: (publicFile: string) => void,
): Promise<SealKey> {
  if (file !== undefined) return readSealKey(file)
  const path = join(folder, privateKeyFile)
  const publicPath = join(folder, publicKeyFile)
  const stored = await readFile(path, 'utf8').catch(ignoreMissing)
  const privateKey =
    stored === undefined ? generateKeyPairSync('ed25519').privateKey : createPrivateKey(stored)
  const key = createSealKey(privateKey)
  await writePublicKey(publicPath, privateKey)
  if (stored !== undefined) return key
  await writeAtomically(path, String(privateKey.export({ type: 'pkcs8', format: 'pem' })))
  onGenerated?.(publicPath)
  return key
}

/** Reads a private key from a PEM file (PKCS #8, Ed25519). Throws if it cannot be read or has another type. */
export async function readSealKey(file: string): Promise<SealKey> {
  return createSealKey(createPrivateKey(await readFile(file)))
}

/** Writes the public half unless the file has it: a crash may have left another one, or a part. */
async function writePublicKey(path: string, privateKey: KeyObject): Promise<void> {
  const text = String(createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }))
  if ((await readFile(path, 'utf8').catch(ignoreMissing)) === text) return
  await writeFile(path, text, { mode: 0o644, flush: true })
}

/** Reads a public key from a PEM file (SPKI, Ed25519). Throws if it cannot be read or has another type. */
export async function readSealVerifier(file: string): Promise<SealVerifier> {
  const text = await readFile(file, 'utf8')
  if (text.includes('PRIVATE KEY')) throw new Error(`${file} has a private key; expected a public key`)
  return createSealVerifier(createPublicKey(text))
}

function createSealVerifier(key: KeyObject) {
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`the seal key is of type ${key.asymmetricKeyType}; expected ed25519`)
  const spki = key.export({ type: 'spki', format: 'der' })
  return {
    /** Of the key in each seal: the first 16 hex digits of the SHA-256 of its public half. */
    id: hash('sha256', spki).slice(0, 16),
    verify: (signed: string, signature: string): boolean =>
      verify(null, Buffer.from(signed), key, Buffer.from(signature, 'base64url')),
  }
}

function createSealKey(key: KeyObject) {
  const verifier = createSealVerifier(createPublicKey(key))
  const secret = key.export({ type: 'pkcs8', format: 'der' })
  const macKey = Buffer.from(hkdfSync('sha256', secret, '', 'catalog-gateway audit record', 32))
  return {
    ...verifier,
    /** Signs with Ed25519 (RFC 8032). Returns base64url: 86 characters. */
    sign: (text: string): string => sign(null, Buffer.from(text), key).toString('base64url'),
    /** HMAC-SHA-256, truncated to 128 bits (RFC 2104, 5), by a key derived with HKDF (RFC 5869). Returns base64url. */
    mac: (text: string): string =>
      createHmac('sha256', macKey).update(text).digest().toString('base64url', 0, 16),
  }
}
