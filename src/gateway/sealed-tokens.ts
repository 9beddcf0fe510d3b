import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { isOperationName, type OperationName, refusal } from '../catalog-api/index.ts'
import type { Principal } from '../identity/index.ts'
import { getPrincipalKey } from '../limits/index.ts'
import type { ListingPosition } from './listing/listing-page.ts'

/*
 * Texts that clients send back, and can neither read nor create. Every gateway with the same secret knows them, without
 * keeping any.
 */

/** Begins every sealed text. No name contains it, and no id of an upstream starts with it. */
const marker = '/'
/** Half of the maximum length of a request target. */
const maxTokenLength = 8192

/** Positions in listings. */
export type PageTokens = ReturnType<typeof createPageTokens>

/** Creates tokens with a key derived from the secret, which replicas share. */
export function createPageTokens(secret: Uint8Array) {
  const sealer = createJsonSealer(secret, 'catalog-gateway page tokens')
  return {
    /** Whether a text has the form of these tokens, which no name and no id has. */
    isSealed: (token: string): boolean => token.startsWith(marker),
    /** Encrypts a position, bound to the scope. Throws ServiceUnavailable (502) if the token would not fit into a request. */
    seal(position: ListingPosition, scope: string): string {
      const token = sealer.seal(position, scope)
      if (token.length <= maxTokenLength) return token
      throw refusal(
        'upstream_response_invalid',
        'invalid response of the upstream: the page token is too long',
      )
    },
    /** Decrypts a position. Throws InvalidInput (400) for a token of another scope or key, or a modified one. */
    open(token: string, scope: string): ListingPosition {
      const position = sealer.open(token, scope)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `seal`; the scope names the form
      if (position !== undefined) return position as ListingPosition
      throw refusal(
        'invalid_page_token',
        'invalid page_token for this listing, or its key was replaced; start again without a page_token',
      )
    },
  }
}

type WorkKind = 'job' | 'multipart write'

const startedWork = z.object({
  /** Its id at the upstream. */
  upstreamId: z.string(),
  /** Name of the upstream. */
  upstream: z.string(),
  operation: z.custom<OperationName>((name) => typeof name === 'string' && isOperationName(name)),
  /** The object of that operation, and its branch if one was stated. */
  id: z.array(z.string()).readonly(),
  branch: z.string().optional(),
})
/** A job or multipart write that an operation started. */
export type StartedWork = Readonly<z.output<typeof startedWork>>

/** Started work, with the id that its caller sent. */
export interface NamedWork extends StartedWork {
  readonly sealedId: string
}

/** Ids of jobs and multipart writes, bound to the caller and the operation that started the work. */
export type SealedIds = ReturnType<typeof createSealedIds>

export function createSealedIds(secret: Uint8Array) {
  const sealer = createJsonSealer(secret, 'catalog-gateway ids of started work')
  return {
    seal: (kind: WorkKind, work: StartedWork, principal: Principal): string =>
      sealer.seal(work, createScope(kind, principal)),
    /**
     * Undefined for the id of an upstream, a modified id, and one that was sealed for other work, for another principal
     * or by another key.
     */
    open(kind: WorkKind, sealedId: string, principal: Principal): NamedWork | undefined {
      // Another release may have sealed it.
      const work = startedWork.safeParse(sealer.open(sealedId, createScope(kind, principal))).data
      return work && { ...work, sealedId }
    },
  }
}

function createScope(kind: WorkKind, principal: Principal): string {
  return JSON.stringify([1, kind, getPrincipalKey(principal)])
}

const cipherName = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
const paddingBytes = 128

/** Creates a sealer with a key derived from the secret; a text that is sealed for one purpose opens for no other. */
function createJsonSealer(secret: Uint8Array, purpose: string) {
  const key = Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
  return {
    /**
     * Encrypts a value as JSON with AES-256-GCM, bound to the scope; the result is base64url behind the marker. Lengths are
     * padded, so that they do not reveal the length of the value.
     */
    seal(value: unknown, scope: string): string {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv(cipherName, key, nonce, { authTagLength: tagBytes })
      cipher.setAAD(Buffer.from(scope))
      const parts = [nonce, cipher.update(padJson(value)), cipher.final(), cipher.getAuthTag()]
      return marker + Buffer.concat(parts).toString('base64url')
    },
    /** Decrypts a value; undefined for a text of another scope, purpose or secret, and for a modified one. */
    open(text: string, scope: string): unknown {
      if (!text.startsWith(marker)) return undefined
      const sealed = Buffer.from(text.slice(marker.length), 'base64url')
      try {
        const cipher = createDecipheriv(cipherName, key, sealed.subarray(0, nonceBytes), {
          authTagLength: tagBytes,
        })
        cipher.setAAD(Buffer.from(scope))
        cipher.setAuthTag(sealed.subarray(-tagBytes))
        const json = cipher.update(sealed.subarray(nonceBytes, -tagBytes), undefined, 'utf8')
        return JSON.parse(json + cipher.final('utf8'))
      } catch {
        return undefined
      }
    },
  }
}

/** Pads with spaces, which JSON ignores. */
function padJson(value: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(value))
  const bytes = Buffer.alloc(Math.ceil(text.length / paddingBytes) * paddingBytes, ' ')
  text.copy(bytes)
  return bytes
}
