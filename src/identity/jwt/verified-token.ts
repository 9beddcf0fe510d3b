import type { Principal } from '../principal.ts'

/** What a bearer token proved. */
export interface VerifiedToken {
  readonly principal: Principal
  /**
   * The SHA-256 of the certificate that the token may only be sent with, in base64url (RFC 8705 section 3.1);
   * undefined for a token that anybody may send who has it.
   */
  readonly certificateThumbprint: string | undefined
}

/** An estimate of the memory that it takes. */
export function estimateBytes({ principal }: VerifiedToken): number {
  let bytes = 512 + principal.name.length + principal.credentialId.length
  // Twice their text: what objects take is not known.
  if (principal.claims !== undefined) bytes += 2 * JSON.stringify(principal.claims).length
  for (const group of principal.groups) bytes += 64 + group.length
  return bytes
}
