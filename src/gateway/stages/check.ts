import { refusal } from '../../interface/errors.ts'
import { arrowStreamType } from '../../interface/headers.ts'
import { show } from '../../interface/identifiers.ts'
import type { Details } from '../../audit/records.ts'
import type { Limits } from '../../limits/limits.ts'
import type { Allowed } from '../../policy/decision.ts'
import { assertEntryCount } from '../batch-needs.ts'
import { ArrowMeter } from '../body/arrow-meter.ts'
import { judgeBody, type BodyJudge } from '../body/body-judge.ts'
import type { Payload } from '../body/payload.ts'
import {
  assertLength,
  countBytes,
  joined,
  piecesOf,
  readBeginning,
  wholeOf,
  type Beginning,
} from '../body/read-body.ts'
import { streamedJson } from '../body/streamed-body.ts'
import { commitDetails } from '../changes/commit-details.ts'
import type { Matched } from '../context.ts'
import type { DownstreamBody } from '../downstream.ts'
import type { Members } from '../facts/read-facts.ts'
import { restateBody, restateHead } from '../facts/restate.ts'
import { isDecidedByBody, needsBody } from '../needed-permissions.ts'
import { soleUpstream } from '../upstream/sole-upstream.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import {
  authorizeBatch,
  authorizeBody,
  decisionOf,
  isTimed,
  reauthorize,
  type FullPermit,
} from './authorize.ts'
import { limitEntries, type Admitted } from './limit.ts'

/** A request whose body agrees with its route, whose body the policies allow, and that concerns one upstream. */
export interface Checked extends Admitted {
  readonly permit: FullPermit
  readonly payload: Payload
  readonly payloadType: string | undefined
  /** Headers that repeat facts of the request for catalogs that read them there: names and values, alternately. */
  readonly restatedHeaders: readonly string[]
  /** The decision that the audit record names. */
  readonly allowedBy: Allowed
  /** Facts for the audit record. */
  readonly details: Details
}

/** Used by `check`. */
export interface CheckOptions {
  readonly bodyLimits: BodyLimits
  readonly limits: Limits
  readonly upstreams: Upstreams
}

/** Maximum sizes of bodies, in bytes unless named otherwise; undefined for no limit. */
interface BodyLimits {
  /** JSON that is read into memory. */
  readonly jsonBytes: number
  /** JSON that streams through. */
  readonly streamedJsonBytes?: number | undefined
  readonly arrowBytes?: number | undefined
  readonly maxBatchEntries: number
}

/** A body that was checked, or whose beginning was, if the payload streams the rest through the check. */
interface CheckedBody {
  readonly permit: FullPermit
  readonly payload: Payload
  readonly payloadType: string | undefined
  readonly members: Members
}

/** Bytes of a read that are checked before any is sent. Almost all bodies of reads have fewer. */
const readWindow = 256 * 1024

const jsonTypes = /^(?:application\/json|application\/octet-stream|text\/json)\s*(?:;|$)/i
const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i
const arrowTypes = /^(?:application\/vnd\.apache\.arrow\.stream|application\/octet-stream)\s*(?:;|$)/i

/**
 * Stage 6: compares a JSON body with the route, and authorizes what only the body states. Bodies that affect a decision,
 * and bodies of changes within the size limit, are checked before anything is sent. The rest of a larger one is checked
 * while it streams, and a contradiction aborts the request. Arrow bodies are counted as they pass. Throws InvalidInput
 * (400, 409, 413), DeniedError (401, 403, 404), LimitReached (429), or Overloaded (503).
 */
export async function check(
  request: Admitted,
  body: DownstreamBody,
  { bodyLimits, limits, upstreams }: CheckOptions,
): Promise<Checked> {
  const { permit, payload, payloadType, members } = await checkBody(request, body, bodyLimits)
  const allowedBy = decisionOf(permit)
  if (allowedBy === undefined)
    throw refusal('invalid_body', 'the batch is empty; expected at least one operation')
  const restated = restateHead(request, permit.stated)
  const route = restated ? { ...request.route, parameters: restated.parameters } : request.route
  const located = soleUpstream(request, permit, route, upstreams)
  limitEntries(request, permit, limits)
  return {
    ...request,
    ...located,
    permit,
    payload,
    payloadType,
    restatedHeaders: restated?.headers ?? [],
    allowedBy,
    details: commitDetails(request.route, permit.stated, members),
  }
}

function checkBody(
  request: Admitted,
  body: DownstreamBody,
  limits: BodyLimits,
): CheckedBody | Promise<CheckedBody> {
  if (request.route.operation.body === 'arrow') return checkArrow(request, body, limits)
  return request.head.hasBody ? checkJson(request, body, limits) : checkNoBody(request)
}

async function checkJson(request: Admitted, body: DownstreamBody, limits: BodyLimits): Promise<CheckedBody> {
  assertReadable(request)
  const { route, permit, countReceived, reserveMemory } = request
  const { operation } = route
  const { contentLength } = request.head
  const isWhole = isDecidedByBody(operation) || permit.decided.some(({ result }) => result === 'undecided')
  const window =
    isWhole || operation.effect !== 'read' ? limits.jsonBytes : Math.min(readWindow, limits.jsonBytes)
  const maxBytes = isWhole ? limits.jsonBytes : limits.streamedJsonBytes
  assertLength(contentLength, maxBytes)
  const isShort = contentLength !== undefined && contentLength <= window
  if (isShort) reserveMemory(contentLength)
  const { bytes, rest }: Beginning = isShort
    ? { bytes: await wholeOf(body, countReceived) }
    : await readBeginning(piecesOf(body.stream, maxBytes, countReceived), window, reserveMemory)
  const keepsFilters = rest === undefined && operation.effect !== 'read'
  const judge = judgeBody(request, { keepsAll: isWhole, keepsFilters, maximumValueBytes: window })
  try {
    judge.text.push(bytes)
    if (rest !== undefined) return checkStream(request, judge, rest)
    return await checkWhole(request, judge, limits)
  } catch (error) {
    await rest?.return()
    throw error
  }
}

async function checkWhole(request: Admitted, judge: BodyJudge, limits: BodyLimits): Promise<CheckedBody> {
  const { text, members } = judge
  const { operation } = request.route
  const isObject = text.end()
  if (!isObject) assertNoObject(request)
  assertEntryCount(operation, members, limits.maxBatchEntries)
  const body = { members: isObject ? members : {}, isWhole: true }
  const isBatch = operation.entries !== undefined
  const permit = isBatch ? await authorizeBatch(request, body) : authorizeBody(request, body)
  if (isObject) restateBody(operation, permit.stated, judge)
  const payload: Payload = { form: 'bytes', bytes: joined(text.takeRest()) }
  return { permit, payload, payloadType: 'application/json', members }
}

function checkStream(request: Admitted, judge: BodyJudge, rest: AsyncGenerator<Buffer, void>): CheckedBody {
  const { members } = judge
  judge.closeIntent()
  const permit = authorizeBody(request, { members, isWhole: false })
  const body = streamedJson(judge.text, rest, (isObject) => {
    if (!isObject) assertNoObject(request)
    reauthorize(request, permit)
  })
  // Members may be removed on the way, so the length is unknown.
  const payload: Payload = { form: 'stream', body, length: undefined }
  return { permit, payload, payloadType: 'application/json', members }
}

function checkArrow(request: Admitted, body: DownstreamBody, { arrowBytes }: BodyLimits): CheckedBody {
  const { contentType, contentEncoding, contentLength, hasBody } = request.head
  if (contentType !== undefined && !arrowTypes.test(contentType)) {
    throw refusal(
      'unsupported_content_type',
      `the content-type is ${show(contentType)}; expected ${arrowStreamType}`,
    )
  }
  if (contentEncoding !== undefined && contentEncoding !== 'identity') {
    throw refusal(
      'unsupported_content_encoding',
      `the content-encoding is ${show(contentEncoding)}; send the Arrow stream as it is`,
    )
  }
  const permit = authorizeBody(request, undefined)
  const checked = { permit, payloadType: arrowStreamType, members: {} }
  if (!hasBody) return { ...checked, payload: { form: 'none' } }
  assertLength(contentLength, arrowBytes)
  const meter = new ArrowMeter()
  const count = countBytes(arrowBytes, request.countReceived)
  body.watch({
    chunk(bytes) {
      count(bytes)
      meter.push(bytes)
    },
    ...(isTimed(permit) && { end: () => reauthorize(request, permit) }),
  })
  return { ...checked, payload: { form: 'stream', body: body.stream, length: contentLength, meter } }
}

/** Operations that state something only in a body have stated nothing. */
function checkNoBody(request: Admitted): CheckedBody {
  assertNoObject(request)
  const body = needsBody(request.route.operation) ? { members: {}, isWhole: true } : undefined
  return {
    permit: authorizeBody(request, body),
    payload: { form: 'none' },
    payloadType: undefined,
    members: {},
  }
}

/** Throws InvalidInput (400) if the operation requires an object as body. */
function assertNoObject({ route }: Matched): void {
  if (route.operation.body === 'map')
    throw refusal('invalid_body', 'the body is empty; expected a JSON object')
}

function assertReadable({ head: { contentType, contentEncoding } }: Matched): void {
  if (contentEncoding !== undefined && contentEncoding !== 'identity') {
    throw refusal(
      'unsupported_content_encoding',
      `the content-encoding is ${show(contentEncoding)}; a JSON body must be sent as it is`,
    )
  }
  if (contentType === undefined) return
  const encoding = charset.exec(contentType)?.[1] ?? 'utf-8'
  if (!jsonTypes.test(contentType) || !/^utf-?8$/i.test(encoding)) {
    throw refusal(
      'unsupported_content_type',
      `the content-type is ${show(contentType)}; expected application/json in UTF-8`,
    )
  }
}
