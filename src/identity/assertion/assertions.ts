import { createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { calculateJwkThumbprint, exportJWK, type JWK } from 'jose'
import type { AssertionSettings } from '../../config/index.ts'
import type { Principal } from '../principal.ts'

const lifetimeSeconds = 60
const pemBlocks = /-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g

export const jwksPath = '/.well-known/jwks.json'

export interface AssertionRequest {
  readonly principal: Principal
  /** Configured name of the upstream: the claim aud. */
  readonly upstream: string
  readonly operation: string
  readonly id: readonly string[]
  readonly policyRevision: string
  readonly requestId: string
}

/** Signs statements about the caller and the allowed operation for upstreams that trust this gateway. */
export type AssertionSigner = Awaited<ReturnType<typeof openAssertionSigner>>

/** Reads the keys: the first one signs, and all are published. Rejects if one cannot be read or is not an Ed25519 key. `now` is the time in milliseconds. */
export async function openAssertionSigner(settings: AssertionSettings, now: () => number) {
  const { issuer, keyFile } = settings
  const blocks = (await readFile(keyFile, 'utf8')).match(pemBlocks) ?? []
  const privateKey = assertEd25519(keyFile, createPrivateKey(blocks[0] ?? ''))
  const published: JWK[] = []
  for (const block of blocks) {
    // The public half of a private key is used.
    const key = await createPublicJwk(assertEd25519(keyFile, createPublicKey(block)))
    if (published.every(({ kid }) => kid !== key.kid)) published.push(key)
  }
  const header = encodeBase64url({ alg: 'EdDSA', typ: 'JWT', kid: published[0]?.kid })

  return {
    jwks: JSON.stringify({ keys: published }),
    /** Creates the value of the assertion header for one request. The signature takes about 50 us. */
    createHeader(request: AssertionRequest): string {
      const { principal, upstream, operation, id, policyRevision, requestId } = request
      const iat = Math.floor(now() / 1000)
      const claims = encodeBase64url({
        iss: issuer,
        aud: upstream,
        sub: principal.name,
        groups: [...principal.groups],
        operation,
        id,
        policy_revision: policyRevision,
        request_id: requestId,
        iat,
        exp: iat + lifetimeSeconds,
      })
      const input = `${header}.${claims}`
      return `${input}.${sign(null, Buffer.from(input), privateKey).toString('base64url')}`
    },
  }
}

/** Creates the public JWK; its id is its thumbprint (RFC 7638, RFC 8037). */
async function createPublicJwk(key: KeyObject) {
  const jwk = await exportJWK(key)
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: 'EdDSA', use: 'sig' }
}

function assertEd25519(file: string, key: KeyObject): KeyObject {
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`${file}: expected an Ed25519 key in PEM`)
  return key
}

function encodeBase64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
