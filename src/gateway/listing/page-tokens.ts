import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CatalogError, refusal } from '../../catalog-api/catalog-error.ts'
import { hasErrorCode } from '../../lib/fs/system-error.ts'
import { writeAtomically } from '../../lib/fs/write-atomically.ts'
import { createJsonSealer } from '../../lib/sealed-json.ts'

/** Encrypts positions in listings as tokens, which clients can neither read nor create. */
export interface PageTokens {
  /**
   * Encrypts a position, bound to the scope. Throws ServiceUnavailable (502) if the token would not fit into a request.
   */
  seal(position: unknown, scope: string): string
  /** Decrypts a position. Throws InvalidInput (400) for a token of another scope or key, or a modified one. */
  open(token: string, scope: string): unknown
  /** Whether a text has the form of these tokens, which no name and no id has. */
  isSealed(token: string): boolean
}

/** No name contains it, so that names and tokens cannot be confused. */
const marker = '/'
/** Half of the maximum length of a request target. */
const maxTokenLength = 8192
const minSecretBytes = 32

/** Creates tokens with a key derived from the secret, which replicas share. */
export function createPageTokens(secret: Uint8Array): PageTokens {
  const sealer = createJsonSealer(secret, 'catalog-gateway page tokens')
  return {
    isSealed: (token) => token.startsWith(marker),
    seal(position, scope) {
      const token = marker + sealer.seal(position, scope)
      if (token.length > maxTokenLength) throw tokenTooLongError()
      return token
    },
    open(token, scope) {
      try {
        return sealer.open(token.slice(marker.length), scope)
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

/** Reads the secret of page tokens without surrounding whitespace. Throws if it is shorter than 32 bytes. */
export async function readPageTokenSecret(file: string): Promise<Buffer> {
  const secret = Buffer.from((await readFile(file, 'utf8')).trim())
  if (secret.length < minSecretBytes) {
    throw new Error(`the page token key has ${secret.length} bytes; expected at least 32`)
  }
  return secret
}

function tokenTooLongError(): CatalogError {
  return refusal('upstream_response_invalid', 'invalid response of the upstream: the page token is too long')
}

/**
 * Reads the secret of page tokens and ids of jobs. Without a key file, generates one in the audit folder at the first
 * start, so that both stay valid after a restart. Throws if the secret cannot be read, or is too short.
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
