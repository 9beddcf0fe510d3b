import type { Readable } from 'node:stream'
import type { Credentials } from '../identity/authenticate.ts'
import type { Principal } from '../identity/principal.ts'
import type { Target } from '../interface/target.ts'
import type { Decision } from '../policy/decision.ts'
import type { IntentReceipt } from '../audit/log.ts'
import type { Details } from '../audit/records.ts'
import type { PermissionNeed } from './needs.ts'

/*
 * What is known of a request after each stage. A stage takes what the one before returns, so a request cannot be
 * forwarded that was not authorized, checked and recorded: it would not compile.
 */

/** A request whose head is well-formed and unambiguous. */
export interface Received {
  readonly requestId: string
  /** The address of the peer of the connection. */
  readonly client: string
  readonly method: string
  /** The raw request target; never forwarded. */
  readonly target: string
  readonly credentials: Credentials
  /** Name and value in turn, names in lower case: what may go on to the upstream. */
  readonly headers: readonly string[]
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  /** In bytes; undefined for a body sent in chunks. */
  readonly contentLength: number | undefined
  readonly hasBody: boolean
  /** Whether a header chooses the location of a table. */
  readonly choosesLocation: boolean
}

/** A request whose operation and id are known, and the only target that can be forwarded for it. */
export interface Matched extends Received {
  readonly meaning: Target
  readonly upstreamTarget: string
}

/** A request whose caller is known. */
export interface Authenticated extends Matched {
  readonly principal: Principal
}

declare const permit: unique symbol

/** A request that the policies allow, as far as its head tells. Only `authorize` makes one. */
export interface Permitted extends Authenticated {
  readonly [permit]: true
  /** The decision on the operation itself; undefined for a batch, which its body decides. */
  readonly decision: Allowed | undefined
  /** Whether the answer may carry storage credentials, and the caller may not have them. */
  readonly withholdsCredentials: boolean
}

/** What goes upstream as the body. */
export type Payload =
  | { readonly form: 'none' }
  | { readonly form: 'bytes'; readonly bytes: Buffer }
  /**
   * Bytes that are not in memory, of a length in bytes where it was sent. Where the stream fails, the exchange is
   * broken off, so that the upstream never sees a whole request.
   */
  | { readonly form: 'stream'; readonly body: Readable; readonly length: number | undefined }

/** The decision that lets a request through. */
export type Allowed = Extract<Decision, { allowed: true }>

/** A permitted request whose body agrees with its route, and whose body the policies allow too. */
export interface Consistent extends Permitted {
  readonly payload: Payload
  readonly upstreamContentType: string | undefined
  /** What the body asks for besides the operation of the route. */
  readonly inner: readonly PermissionNeed[]
  /** The decision that the audit record names. */
  readonly allowedBy: Allowed
  /** Facts for the audit record. */
  readonly details: Details
}

/** A consistent request that may be forwarded: a change has its intent on disk. */
export interface Recorded extends Consistent {
  /** The receipt of the intent; undefined for a read, which leaves no intent. */
  readonly intent: IntentReceipt | undefined
}

/** Marks a request as permitted; for `authorize` alone. */
export function grant(
  request: Authenticated,
  rest: Omit<Permitted, keyof Authenticated | typeof permit>,
): Permitted {
  return { ...request, ...rest } as Permitted
}
