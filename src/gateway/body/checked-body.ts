import type { StatedFacts } from '../../catalog-api/facts.ts'
import type { RunInSlices } from '../../lib/async/run-in-slices.ts'
import type { BodyBounds } from '../bounds.ts'
import type { Matched } from '../context.ts'
import type { NamedWork } from '../facts/sealed-ids.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import type { CheckDecision } from './checked-source.ts'
import type { Payload } from './payload.ts'

/** A request whose body may be read, with the capacity for it. */
export interface ReadableRequest extends Matched {
  /** Counts bytes of the body against byte quotas; undefined if no quota counts them. */
  readonly countReceived: ((bytes: number) => void) | undefined
  /** Reserves memory for bytes of the body. Throws Overloaded (503). */
  readonly reserveMemory: (bytes: number) => void
  /** Slices of the principal. Rejects with ClientDisconnected once the response is closed. */
  readonly runInSlices: RunInSlices
}

/** Maximum sizes of bodies. */
export interface BodyLimits extends BodyBounds {
  /** JSON that is read into memory. */
  readonly maxJsonBytes: number
  /** Arrow, and JSON that streams through; undefined for no limit. */
  readonly maxArrowBytes?: number | undefined
}

/** What a body states that must be authorized. */
export interface BodyStatement {
  readonly members: JsonObject
  /** Whether these are all members. */
  readonly isWhole: boolean
  /** Extension types of its columns whose values can refer to other objects. */
  readonly references?: readonly string[]
  /** The job that it names by a sealed id. */
  readonly job?: NamedWork | undefined
}

/** A body that was checked, or whose beginning was: then its payload streams the rest through the check. */
export interface CheckedBody {
  /** Undefined if the head states everything. */
  readonly statement: BodyStatement | undefined
  /** Members that were read. */
  readonly members: JsonObject
  /** Paths of members outside the catalog API. */
  readonly allowedMembers: ReadonlySet<string>
  /** The job that the body names by a sealed id. */
  readonly job: NamedWork | undefined
  readonly payloadType: string | undefined
  /**
   * Creates what is forwarded, with the authorized facts in all their sources. To be called once. `check` is called while
   * a body streams, and before the last byte of it is sent; if it rejects, the upstream never receives a complete body.
   */
  createPayload(stated: StatedFacts, check: CheckDecision): Payload
}

const noMembers: ReadonlySet<string> = new Set()

/** Creates a body without members of JSON. */
export function createBodyWithoutMembers(
  statement: BodyStatement | undefined,
  payloadType: string | undefined,
  createPayload: CheckedBody['createPayload'],
): CheckedBody {
  return { statement, members: {}, allowedMembers: noMembers, job: undefined, payloadType, createPayload }
}
