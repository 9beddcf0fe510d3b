import type { Principal } from '../principal.ts'

export interface VerifiedToken {
  readonly principal: Principal
  /** SHA-256 of the bound certificate in base64url (RFC 8705 section 3.1); undefined for an unbound token. */
  readonly certificateThumbprint: string | undefined
}

/** Estimates the memory of a token in bytes. */
export function estimateBytes({ principal }: VerifiedToken): number {
  let bytes = 512 + principal.name.length + principal.credentialId.length
  // Twice the length of the text: the memory of objects is unknown.
  if (principal.claims !== undefined) bytes += 2 * JSON.stringify(principal.claims).length
  for (const group of principal.groups) bytes += 64 + group.length
  return bytes
}
