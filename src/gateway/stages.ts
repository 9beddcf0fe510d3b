import type { Readable } from 'node:stream'
import type { Credentials } from '../identity/authenticate.ts'
import type { Principal } from '../identity/principal.ts'
import type { Target } from '../interface/target.ts'
import type { Allowed } from '../policy/decision.ts'
import type { StatedFacts } from '../interface/facts.ts'
import type { RequestFacts } from '../policy/question.ts'
import type { IntentReceipt } from '../audit/log.ts'
import type { Details } from '../audit/records.ts'
import type { TrackedChange } from './changes/change-tracking.ts'
import type { ArrowMeter } from './body/arrow-meter.ts'
import type { RestatedHead } from './facts/restate.ts'
import type { DecidedNeed } from './needs.ts'
import type { Upstream } from './upstream/upstream.ts'

/*
 * What is known of a request after each stage. A stage takes what the one before returns, so a request cannot be
 * forwarded that was not authorized, checked and recorded: it would not compile. All of them are one object, in which
 * each stage fills in what it has found out: see `Passage` below.
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
  /** Name and value in turn, names in lower case: what was sent besides the members of this object. */
  readonly headers: readonly string[]
  /** The database that a remote client of LanceDB names: `sales/eu`; other clients name none. */
  readonly database: string | undefined
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  /** In bytes; undefined for a body sent in chunks. */
  readonly contentLength: number | undefined
  readonly hasBody: boolean
  /** The headers that state something about a table. */
  readonly tableHeaders: readonly ('location' | 'properties')[]
}

/** A request whose operation and id are known, and the only target that can be forwarded for it. */
export interface Matched extends Received {
  readonly meaning: Target
  /** Where the object lies; of a batch, whose route names none, this is not known before its body has been read. */
  readonly upstream: Upstream
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
  /** The facts that do not depend on the operation. */
  readonly facts: RequestFacts
  /** The facts that the request states, as far as it has been read. */
  readonly stated: StatedFacts
  /** Everything that it needs, and what was decided, its operation first. */
  readonly decided: readonly DecidedNeed[]
}

declare const settlement: unique symbol

/** A permitted request of which nothing is undecided any more. Only `settle` makes one. */
export interface Settled extends Permitted {
  readonly [settlement]: true
  /** Whether the response may carry storage credentials, and the caller may not have them. */
  readonly withholdsCredentials: boolean
  /** Whether the response to a change may describe an object that the caller may not describe. */
  readonly withholdsDescription: boolean
}

/** What goes upstream as the body. */
export type Payload =
  | { readonly form: 'none' }
  | { readonly form: 'bytes'; readonly bytes: Buffer }
  /**
   * Bytes that are not in memory, of a length in bytes where it was sent. Where the stream fails, the exchange is
   * broken off, so that the upstream never sees a whole request.
   */
  | {
      readonly form: 'stream'
      readonly body: Readable
      readonly length: number | undefined
      /** Of an Arrow stream: what has passed so far. */
      readonly meter?: ArrowMeter
    }

/** A permitted request whose body agrees with its route, and whose body the policies allow too. */
export interface Consistent extends Settled {
  readonly payload: Payload
  readonly upstreamContentType: string | undefined
  /** Undefined if the head goes out as it came. */
  readonly restated: RestatedHead | undefined
  /** The decision that the audit record names. */
  readonly allowedBy: Allowed
  /** Facts for the audit record. */
  readonly details: Details
}

declare const place: unique symbol

/** A consistent request all of whose objects lie at its upstream. Only `atOneUpstream` makes one. */
export interface Placed extends Consistent {
  readonly [place]: true
}

/** A placed request that may be forwarded: a change has its intent on disk, as its class is recorded. */
export interface Recorded extends Placed {
  /** Undefined for what is not recorded: reads, unless the settings tell otherwise. */
  readonly intent: WrittenIntent | undefined
}

/** An intent that was given to the audit log. */
export interface WrittenIntent {
  /** Settled already, unless nothing waits for the record. */
  readonly receipt: Promise<IntentReceipt>
  /** Whether the answer waits for the outcome. */
  readonly awaitsOutcome: boolean
  readonly change: TrackedChange
}

/**
 * A request on its way through the stages. All members are there from the first stage on: to copy the request in every
 * stage, or to let it grow, took longer than the stages themselves.
 */
class Passage {
  readonly requestId: string
  readonly client: string
  readonly method: string
  readonly target: string
  readonly credentials: Credentials
  readonly headers: readonly string[]
  readonly database: string | undefined
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  readonly contentLength: number | undefined
  readonly hasBody: boolean
  readonly tableHeaders: readonly ('location' | 'properties')[]
  meaning: Target | undefined = undefined
  upstream: Upstream | undefined = undefined
  upstreamTarget = ''
  principal: Principal | undefined = undefined
  facts: RequestFacts | undefined = undefined
  stated: StatedFacts = noFacts
  decided: readonly DecidedNeed[] = nothing
  withholdsCredentials = false
  withholdsDescription = false
  payload: Payload = noPayload
  upstreamContentType: string | undefined = undefined
  restated: RestatedHead | undefined = undefined
  allowedBy: Allowed | undefined = undefined
  details: Details | undefined = undefined
  intent: WrittenIntent | undefined = undefined

  constructor(received: Received) {
    this.requestId = received.requestId
    this.client = received.client
    this.method = received.method
    this.target = received.target
    this.credentials = received.credentials
    this.headers = received.headers
    this.database = received.database
    this.contentType = received.contentType
    this.contentEncoding = received.contentEncoding
    this.contentLength = received.contentLength
    this.hasBody = received.hasBody
    this.tableHeaders = received.tableHeaders
  }
}

const nothing: readonly DecidedNeed[] = []
const noFacts: StatedFacts = {}
const noPayload: Payload = { form: 'none' }

/** Requests are made by `received` alone. */
function passageOf(request: Received): Passage {
  return request as Passage
}

/** What a stage adds to what it took. */
type Found<After, Before> = Omit<After, keyof Before | symbol>

/** The end of `receive`. */
export function received(request: Received): Received {
  return new Passage(request)
}

/** The end of `match`. */
export function matched(
  request: Received,
  { meaning, upstream, upstreamTarget }: Found<Matched, Received>,
): Matched {
  const passage = passageOf(request)
  passage.meaning = meaning
  passage.upstream = upstream
  passage.upstreamTarget = upstreamTarget
  return passage as Matched
}

/** The end of `identify`. */
export function authenticated(request: Matched, principal: Principal): Authenticated {
  const passage = passageOf(request)
  passage.principal = principal
  return passage as Authenticated
}

/** Marks a request as permitted; for `authorize` alone. */
export function grant(
  request: Authenticated,
  { facts, stated, decided }: Found<Permitted, Authenticated>,
): Permitted {
  const passage = passageOf(request)
  passage.facts = facts
  passage.stated = stated
  passage.decided = decided
  return passage as unknown as Permitted
}

/** Marks a request as settled; for `settle` alone. */
export function settled(
  request: Permitted,
  {
    facts,
    stated,
    decided,
    withholdsCredentials,
    withholdsDescription,
  }: Found<Settled, Permitted> & Pick<Permitted, 'facts' | 'stated' | 'decided'>,
): Settled {
  const passage = passageOf(request)
  passage.facts = facts
  passage.stated = stated
  passage.decided = decided
  passage.withholdsCredentials = withholdsCredentials
  passage.withholdsDescription = withholdsDescription
  return passage as unknown as Settled
}

/** The end of `check`. */
export function consistent(
  request: Settled,
  { payload, upstreamContentType, restated, allowedBy, details }: Found<Consistent, Settled>,
): Consistent {
  const passage = passageOf(request)
  passage.payload = payload
  passage.upstreamContentType = upstreamContentType
  passage.restated = restated
  passage.allowedBy = allowedBy
  passage.details = details
  return passage as unknown as Consistent
}

/** Marks a request as placed, at that upstream; for `atOneUpstream` alone. */
export function placed(request: Consistent, upstream: Upstream, upstreamTarget: string): Placed {
  const passage = passageOf(request)
  passage.upstream = upstream
  passage.upstreamTarget = upstreamTarget
  return passage as unknown as Placed
}

/** The end of `record`. */
export function recorded(request: Placed, intent: WrittenIntent | undefined): Recorded {
  const passage = passageOf(request)
  passage.intent = intent
  return passage as unknown as Recorded
}
