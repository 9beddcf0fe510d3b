import { refusal } from '../../catalog-api/catalog-error.ts'
import { assertArrowContentType } from '../../catalog-api/arrow-content-type.ts'
import { arrowStreamType, isArrowStreamType } from '../../catalog-api/headers.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import type { Details } from '../../audit/records/audit-record.ts'
import type { Limits } from '../../limits/limits.ts'
import type { Allowed } from '../../policy/engine/decision.ts'
import { assertBatchSize } from '../authorization/batch-permissions.ts'
import { ArrowMeter } from '../body/arrow-meter.ts'
import { addBodyParameters } from '../body/body-parameters.ts'
import { createBodyChecker, type BodyChecker } from '../body/body-checker.ts'
import type { Payload } from '../body/payload.ts'
import {
  assertBodyLength,
  createByteCounter,
  concatChunks,
  readChunks,
  readBodyStart,
  readWholeBody,
  type BodyStart,
} from '../body/read-body.ts'
import { StreamSource } from '../../http1/client/stream-source.ts'
import { createJsonStream } from '../body/json-stream.ts'
import { readSchemaStream } from '../../lib/arrow/schema-stream.ts'
import { createChangeDetails } from '../facts/change-details.ts'
import { advance, type Matched } from '../context.ts'
import type { DownstreamBody } from '../downstream.ts'
import type { NamedJob, StartedJobs } from '../facts/started-jobs.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import { restateBody, restateHead } from '../body/restate-facts.ts'
import { isDecidedByBody, requiresBody } from '../authorization/request-permissions.ts'
import { findSoleUpstream } from '../upstream/sole-upstream.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import {
  authorizeBatch,
  authorizeBody,
  firstAllowed,
  dependsOnTime,
  reauthorize,
  type FullPermit,
} from './authorize.ts'
import { limitEntries, type Admitted } from './limit.ts'

/** A request whose body agrees with its route, is allowed by the policies and concerns one upstream. */
export interface Checked extends Admitted {
  readonly permit: FullPermit
  readonly payload: Payload
  readonly payloadType: string | undefined
  /** The job that the body names by a sealed id. */
  readonly job?: NamedJob | undefined
  /** Headers that repeat facts of the request for catalogs that read them there: names and values, alternately. */
  readonly restatedHeaders: readonly string[]
  /** The decision that the audit record names. */
  readonly allowedBy: Allowed
  /** Facts for the audit record. */
  readonly details: Details
}

export interface CheckOptions {
  readonly bodyLimits: BodyLimits
  readonly limits: Limits
  readonly upstreams: Upstreams
  readonly startedJobs: StartedJobs
}

/** Maximum sizes of bodies, in bytes unless named otherwise; undefined for no limit. */
interface BodyLimits {
  /** JSON that is read into memory. */
  readonly maxJsonBytes: number
  /** JSON that streams through. */
  readonly maxStreamedJsonBytes?: number | undefined
  readonly maxArrowBytes?: number | undefined
  readonly maxBatchEntries: number
}

/** A body that was checked, or whose beginning was, if the payload streams the rest through the check. */
interface CheckedBody {
  readonly permit: FullPermit
  readonly payload: Payload
  readonly payloadType: string | undefined
  readonly members: JsonObject
  readonly job?: NamedJob | undefined
}

/** Bytes of a read that are checked before any is sent. Almost all bodies of reads have fewer. */
const readWindowBytes = 256 * 1024

const jsonContentType = /^(?:application\/json|application\/octet-stream|text\/json)\s*(?:;|$)/i
const charsetParameter = /;\s*charset\s*=\s*"?([^\s";]*)/i

/**
 * Stage 6: compares a JSON body with the route, and authorizes what only the body states. Bodies that affect a decision,
 * and bodies of changes within the size limit, are checked before anything is sent. The rest of a larger body is checked
 * while it streams, and a contradiction aborts the request. Arrow bodies are counted as they pass. Throws InvalidInput
 * (400, 409, 413), DeniedError (401, 403, 404), LimitExceeded (429), or Overloaded (503).
 */
export async function check(
  request: Admitted,
  body: DownstreamBody,
  options: CheckOptions,
): Promise<Checked> {
  const { limits, upstreams } = options
  const { permit, payload, payloadType, members, job } = await checkBody(request, body, options)
  const allowedBy = firstAllowed(permit)
  if (allowedBy === undefined)
    throw refusal('invalid_body', 'the batch is empty; expected at least one operation')
  const restated = restateHead(request, permit.stated)
  const route = restated ? { ...request.route, parameters: restated.parameters } : request.route
  const located = findSoleUpstream(request, permit, route, upstreams)
  limitEntries(request, permit, limits)
  return advance(request, {
    route: addBodyParameters(request.route, members),
    upstream: located.upstream,
    upstreamTarget: located.upstreamTarget,
    permit,
    payload,
    payloadType,
    job,
    restatedHeaders: restated?.headers ?? [],
    allowedBy,
    details: createChangeDetails(request.route, permit.stated, members),
  })
}

function checkBody(
  request: Admitted,
  body: DownstreamBody,
  options: CheckOptions,
): CheckedBody | Promise<CheckedBody> {
  const limits = options.bodyLimits
  const { operation } = request.route
  const { hasBody, contentType } = request.head
  if (operation.body === 'arrow') return checkArrow(request, body, limits)
  if (!hasBody) return checkNoBody(request)
  const isArrowSchema =
    operation.alsoArrowSchema && contentType !== undefined && isArrowStreamType(contentType)
  return isArrowSchema ? checkArrowSchema(request, body, limits) : checkJson(request, body, options)
}

async function checkJson(
  request: Admitted,
  body: DownstreamBody,
  { bodyLimits: limits, startedJobs, upstreams }: CheckOptions,
): Promise<CheckedBody> {
  assertJsonHeaders(request)
  const { route, permit, countReceived, reserveMemory } = request
  const { operation } = route
  const { contentLength } = request.head
  const needsWholeBody =
    isDecidedByBody(operation) ||
    operation.lists !== undefined ||
    permit.decisions.some(({ result }) => result === 'undecided')
  const window =
    needsWholeBody || operation.effect !== 'read'
      ? limits.maxJsonBytes
      : Math.min(readWindowBytes, limits.maxJsonBytes)
  const maxBytes = needsWholeBody ? limits.maxJsonBytes : limits.maxStreamedJsonBytes
  assertBodyLength(contentLength, maxBytes)
  const fitsWindow = contentLength !== undefined && contentLength <= window
  if (fitsWindow) reserveMemory(contentLength)
  const { bytes, rest }: BodyStart = fitsWindow
    ? { bytes: await readWholeBody(body, countReceived) }
    : await readBodyStart(readChunks(body.stream, maxBytes, countReceived), window, reserveMemory)
  const retainsFilters = rest === undefined && operation.effect !== 'read'
  const checker = createBodyChecker(request, {
    retainsAll: needsWholeBody,
    retainsFilters,
    maxValueBytes: window,
    openJob(jobId) {
      const job = startedJobs.open(jobId, request.principal)
      // Settings may have moved the namespace to another upstream, which has other jobs.
      return job !== undefined && upstreams.forId(job.id).name === job.upstream ? job : undefined
    },
  })
  try {
    checker.json.push(bytes)
    if (rest !== undefined) return checkStreamedJson(request, checker, rest)
    return await checkWholeJson(request, checker, limits)
  } catch (error) {
    await rest?.return()
    throw error
  }
}

async function checkWholeJson(
  request: Admitted,
  checker: BodyChecker,
  limits: BodyLimits,
): Promise<CheckedBody> {
  const { json, members } = checker
  const { operation } = request.route
  const isObject = json.end()
  if (!isObject) assertBodyNotRequired(request)
  assertBatchSize(operation, members, limits.maxBatchEntries)
  const body = { members: isObject ? members : {}, isWhole: true, job: checker.getJob() }
  const isBatch = operation.entries !== undefined
  const permit = isBatch ? await authorizeBatch(request, body) : authorizeBody(request, body)
  if (isObject) restateBody(operation, permit.stated, checker)
  const payload: Payload = { form: 'bytes', bytes: concatChunks(json.takeRest()) }
  return { permit, payload, payloadType: 'application/json', members, job: body.job }
}

function checkStreamedJson(
  request: Admitted,
  checker: BodyChecker,
  rest: AsyncGenerator<Buffer, void>,
): CheckedBody {
  const { members } = checker
  checker.freezeAuditedMembers()
  const permit = authorizeBody(request, { members, isWhole: false })
  const body = createJsonStream(checker.json, rest, (isObject) => {
    if (!isObject) assertBodyNotRequired(request)
    reauthorize(request, permit)
  })
  // Members may be removed on the way, so the length is unknown.
  const payload: Payload = { form: 'stream', body: new StreamSource(body), length: undefined }
  return { permit, payload, payloadType: 'application/json', members }
}

function checkArrow(request: Admitted, body: DownstreamBody, { maxArrowBytes }: BodyLimits): CheckedBody {
  const { contentType, contentEncoding, contentLength, hasBody } = request.head
  assertArrowContentType(contentType)
  assertUncompressed(contentEncoding, 'the Arrow stream')
  const permit = authorizeBody(request, undefined)
  const checked = { permit, payloadType: arrowStreamType, members: {} }
  if (!hasBody) return { ...checked, payload: { form: 'none' } }
  assertBodyLength(contentLength, maxArrowBytes)
  const meter = new ArrowMeter()
  const count = createByteCounter(maxArrowBytes, request.countReceived)
  const upload = body.upload({
    chunk(bytes) {
      count(bytes)
      meter.push(bytes)
    },
    ...(dependsOnTime(permit) && { end: () => reauthorize(request, permit) }),
  })
  return { ...checked, payload: { form: 'stream', body: upload, length: contentLength, meter } }
}

/** Nothing but a schema is forwarded: an upstream that ignores the content-type could read other bytes as JSON. */
async function checkArrowSchema(
  request: Admitted,
  body: DownstreamBody,
  { maxJsonBytes }: BodyLimits,
): Promise<CheckedBody> {
  const { contentEncoding, contentLength } = request.head
  const { countReceived, reserveMemory } = request
  assertUncompressed(contentEncoding, 'the Arrow stream')
  assertBodyLength(contentLength, maxJsonBytes)
  const chunks = readChunks(body.stream, maxJsonBytes, countReceived)
  const { bytes } = await readBodyStart(chunks, maxJsonBytes, reserveMemory)
  if (readSchemaStream(bytes) === undefined) {
    throw refusal('malformed_body', 'the body is not an Arrow IPC stream of a schema without rows')
  }
  const meter = new ArrowMeter()
  meter.push(bytes)
  const permit = authorizeBody(request, { members: {}, isWhole: true })
  return { permit, payload: { form: 'bytes', bytes, meter }, payloadType: arrowStreamType, members: {} }
}

/** Operations that state something only in a body have stated nothing. */
function checkNoBody(request: Admitted): CheckedBody {
  assertBodyNotRequired(request)
  const { operation } = request.route
  const body = requiresBody(operation) ? { members: {}, isWhole: true } : undefined
  const permit = authorizeBody(request, body)
  // A GET is forwarded as POST, which some catalogs refuse without JSON.
  if (request.head.method === 'GET' && operation.body === 'json') {
    const payload: Payload = { form: 'bytes', bytes: Buffer.from('{}') }
    return { permit, payload, payloadType: 'application/json', members: {} }
  }
  return { permit, payload: { form: 'none' }, payloadType: undefined, members: {} }
}

/** Throws InvalidInput (400) if the operation requires an object as body. */
function assertBodyNotRequired({ route }: Matched): void {
  if (route.operation.body === 'map')
    throw refusal('invalid_body', 'the body is empty; expected a JSON object')
}

function assertJsonHeaders({ head: { contentType, contentEncoding } }: Matched): void {
  assertUncompressed(contentEncoding, 'the JSON body')
  if (contentType === undefined) return
  const encoding = charsetParameter.exec(contentType)?.[1] ?? 'utf-8'
  if (!jsonContentType.test(contentType) || !/^utf-?8$/i.test(encoding)) {
    throw refusal(
      'unsupported_content_type',
      `the content-type is ${quoteForMessage(contentType)}; expected application/json in UTF-8`,
    )
  }
}

function assertUncompressed(contentEncoding: string | undefined, what: string): void {
  if (contentEncoding === undefined || contentEncoding === 'identity') return
  throw refusal(
    'unsupported_content_encoding',
    `the content-encoding is ${quoteForMessage(contentEncoding)}; send ${what} uncompressed`,
  )
}
