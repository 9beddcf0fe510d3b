import { createPublicKey, randomBytes, type JsonWebKey } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createKey } from '../../src/identity/api-keys/key-store.ts'
import { goodClaims, makeSigningKey, signToken } from '../identity/jwt/token-issuer.ts'

/** Who calls in all measurements: the principal of the key, and the subject of the tokens. */
export const callerName = 'bench'

/** The claims that every server holds the tokens to. */
export const { iss: issuer = '', aud: audience = '' } = goodClaims()

/** What callers send, and the files that servers know them by. */
export interface Callers {
  readonly folder: string
  readonly apiKey: string
  /** The key of a JSON Web Key Set with one RSA key, and the same key in PEM. */
  readonly keySetFile: string
  readonly publicKeyFile: string
  /** A line for each key: the key, a blank, its principal. */
  readonly keyMapFile: string
  /** The store and the pepper of the gateway. */
  readonly storeFile: string
  readonly pepperFile: string
  /** Tokens that are all good and all different. */
  readonly tokens: readonly string[]
  /** One that somebody else has signed. */
  readonly forgedToken: string
  /** A line for each token. */
  readonly tokensFile: string
}

/** Makes a key and so many tokens, and writes the files. */
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
