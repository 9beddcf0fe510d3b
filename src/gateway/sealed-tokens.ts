import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { isOperationName, type OperationName, refusal } from '../catalog-api/index.ts'
import type { Principal } from '../identity/index.ts'
import { createJsonSealer, hasErrorCode, writeAtomically } from '../lib/index.ts'
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
const minSecretBytes = 32

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
      const token = marker + sealer.seal(position, scope)
      if (token.length <= maxTokenLength) return token
      throw refusal(
        'upstream_response_invalid',
        'invalid response of the upstream: the page token is too long',
      )
    },
    /** Decrypts a position. Throws InvalidInput (400) for a token of another scope or key, or a modified one. */
    open(token: string, scope: string): ListingPosition {
      try {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `seal`; the scope names the form
        return sealer.open(token.slice(marker.length), scope) as ListingPosition
      } catch (cause) {
        throw refusal(
          'invalid_page_token',
          'invalid page_token for this listing, or its key was replaced; start again without a page_token',
          { cause },
        )
      }
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

/** Ids of jobs and multipart writes, which contain who started the work by which operation. */
export type SealedIds = ReturnType<typeof createSealedIds>

export function createSealedIds(secret: Uint8Array) {
  const sealer = createJsonSealer(secret, 'catalog-gateway ids of started work')
  return {
    seal: (kind: WorkKind, work: StartedWork, principal: Principal): string =>
      marker + sealer.seal(work, createScope(kind, principal)),
    /**
     * Undefined for the id of an upstream, a modified id, and one that was sealed for other work, for another principal
     * or by another key.
     */
    open(kind: WorkKind, sealedId: string, principal: Principal): NamedWork | undefined {
      if (!sealedId.startsWith(marker)) return undefined
      try {
        const opened = sealer.open(sealedId.slice(marker.length), createScope(kind, principal))
        // Another release may have sealed it.
        const work = startedWork.safeParse(opened).data
        return work && { ...work, sealedId }
      } catch {
        return undefined
      }
    },
  }
}

function createScope(kind: WorkKind, principal: Principal): string {
  return JSON.stringify([1, kind, getPrincipalKey(principal)])
}

/** Reads the secret without surrounding whitespace. Throws if it is shorter than 32 bytes. */
export async function readPageTokenSecret(file: string): Promise<Buffer> {
  const secret = Buffer.from((await readFile(file, 'utf8')).trim())
  if (secret.length < minSecretBytes) {
    throw new Error(`the page token key has ${secret.length} bytes; expected at least 32`)
  }
  return secret
}

/**
 * Reads the secret. Without a key file, generates one in the audit folder at the first start, so that tokens and ids
 * stay valid after a restart. Throws if the secret cannot be read, or is too short.
 */
export async function openTokenSecret(auditFolder: string, keyFile: string | undefined): Promise<Uint8Array> {
  if (keyFile !== undefined) return await readPageTokenSecret(keyFile)
  const file = join(auditFolder, 'token-key')
  try {
    return await readPageTokenSecret(file)
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT')) throw error
  }
  const secret = randomBytes(minSecretBytes).toString('base64url')
  await writeAtomically(file, secret)
  return Buffer.from(secret)
}
