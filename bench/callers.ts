import { createPublicKey, randomBytes, type JsonWebKey } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createKey } from '../src/identity/api-keys/key-store.ts'
import { goodClaims, makeSigningKey, signToken } from '../test/identity/jwt/token-issuer.ts'

/** Principal of the key and subject of the tokens in all measurements. */
export const callerName = 'bench'

/** Claims that every server requires. */
export const { iss: issuer = '', aud: audience = '' } = goodClaims()

export interface Callers {
  readonly folder: string
  readonly apiKey: string
  /** A JWKS with one RSA key, and the same key in PEM. */
  readonly keySetFile: string
  readonly publicKeyFile: string
  /** A line per key: the key, a blank, its principal. */
  readonly keyMapFile: string
  /** Key store and pepper of the gateway. */
  readonly storeFile: string
  readonly pepperFile: string
  readonly tokens: readonly string[]
  /** A token with a forged signature. */
  readonly forgedToken: string
  readonly tokensFile: string
}

/** Creates a key and `tokenCount` tokens, and writes the files. */
export async function makeCallers(parent: string, tokenCount: number): Promise<Callers> {
  const folder = join(parent, 'callers')
  await mkdir(folder)
  const inFolder = (name: string): string => join(folder, name)
  const files = {
    keySetFile: inFolder('keys.json'),
    publicKeyFile: inFolder('key.pem'),
    keyMapFile: inFolder('keys.map'),
    storeFile: inFolder('keys.yaml'),
    pepperFile: inFolder('pepper'),
    tokensFile: inFolder('tokens'),
  }
  const pepper = randomBytes(32).toString('base64url')
  await writeFile(files.pepperFile, pepper)
  await writeFile(files.storeFile, 'keys: []\n')
  const { text: apiKey } = await createKey(files.storeFile, Buffer.from(pepper), {
    principal: callerName,
    groups: [],
  })
  const [signer, stranger] = await Promise.all([makeSigningKey('first'), makeSigningKey('first')])
  const tokens = await signedTokens(tokenCount, (jti) => signToken(signer, { sub: callerName, jti }))
  const pem = createPublicKey({ key: signer.publicKey as JsonWebKey, format: 'jwk' })
  await writeFile(files.keyMapFile, `${apiKey} ${callerName}\n`)
  await writeFile(files.keySetFile, JSON.stringify({ keys: [signer.publicKey] }))
  await writeFile(files.publicKeyFile, pem.export({ type: 'spki', format: 'pem' }))
  await writeFile(files.tokensFile, tokens.join('\n'))
  const forgedToken = await signToken(stranger, { sub: callerName })
  return { folder, apiKey, tokens, forgedToken, ...files }
}

async function signedTokens(count: number, sign: (id: string) => Promise<string>): Promise<string[]> {
  const tokens: string[] = []
  while (tokens.length < count) {
    const first = tokens.length
    const some = Array.from({ length: Math.min(100, count - first) }, (_, index) => sign(`t${first + index}`))
    tokens.push(...(await Promise.all(some)))
  }
  return tokens
}
