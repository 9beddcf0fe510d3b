import { invalidInput } from '../interface/errors.ts'
import { arrowStreamType } from '../interface/headers.ts'
import { show } from '../interface/identifiers.ts'
import type { PolicySet } from '../policy/trie.ts'
import { confirm, decisionOf, isTimed, settle, settleBatch } from './authorize.ts'
import { assertEntryCount } from './batch-needs.ts'
import { judgeBody, type BodyJudge } from './body/body-judge.ts'
import { ArrowMeter } from './body/arrow-meter.ts'
import { commitDetails } from './changes/commit-details.ts'
import type { DownstreamBody } from './body/downstream-body.ts'
import {
  assertLength,
  countBytes,
  joined,
  piecesOf,
  readBeginning,
  wholeOf,
  type Beginning,
} from './body/read-body.ts'
import type { Members } from './facts/read-facts.ts'
import { isDecidedByBody, needsBody } from './needed-permissions.ts'
import { restateBody, restateHead } from './facts/restate.ts'
import { consistent, type Consistent, type Payload, type Permitted, type Settled } from './stages.ts'
import { streamedJson } from './body/streamed-body.ts'

/** What the check needs to know besides the request. */
export interface CheckOptions {
  /** The same policies that authorized the request. */
  readonly policies: PolicySet
  readonly limits: BodyLimits
  /** Told of the bytes of the body as they come. */
  readonly arrived?: ((bytes: number) => void) | undefined
  /** Called with bytes of a body before they are kept in memory; throws Overloaded (503). */
  readonly reserve?: (bytes: number) => void
}

/** The most of a body, in bytes unless its name says otherwise; undefined for no limit. */
export interface BodyLimits {
  /** Of JSON that is read into memory. */
  readonly jsonBytes: number
  /** Of JSON that streams through. */
  readonly streamedJsonBytes?: number | undefined
  readonly arrowBytes?: number | undefined
  /** The most entries of a batch. */
  readonly maxBatchEntries: number
}

/** As much of a read is judged before anything of it is sent: more than almost all of them have. */
const readWindow = 256 * 1024

const jsonTypes = /^(?:application\/json|application\/octet-stream|text\/json)\s*(?:;|$)/i
const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i
const arrowTypes = /^(?:application\/vnd\.apache\.arrow\.stream|application\/octet-stream)\s*(?:;|$)/i

/**
 * The stage that holds a JSON body against the route: what both say must not differ, and what only the body says must
 * be allowed too. What fits into the window of the operation is judged before anything is sent, and so is every body
 * that decides; of any other the rest is judged while it streams through, and the request is broken off where it
 * turns out bad. Arrow bodies are measured as they pass. A promise only where it waits for a body. Throws or rejects
 * with InvalidInput (400, 413) or DeniedError (403, 404).
 */
export function check(
  request: Permitted,
  body: DownstreamBody,
  options: CheckOptions,
): Consistent | Promise<Consistent> {
  if (request.meaning.operation.body === 'arrow') return passArrow(request, body, options)
  return request.hasBody ? checkJson(request, body, options) : passWithout(request, options)
}

async function checkJson(
  request: Permitted,
  body: DownstreamBody,
  options: CheckOptions,
): Promise<Consistent> {
  assertReadable(request)
  const { operation } = request.meaning
  const { jsonBytes, streamedJsonBytes } = options.limits
  const isWhole = isDecidedByBody(operation) || request.decided.some(({ result }) => result === 'undecided')
  const window = isWhole || operation.effect !== 'read' ? jsonBytes : Math.min(readWindow, jsonBytes)
  const limit = isWhole ? jsonBytes : streamedJsonBytes
  assertLength(request.contentLength, limit)
  const { contentLength } = request
  const isShort = contentLength !== undefined && contentLength <= window
  if (isShort) options.reserve?.(contentLength)
  const { bytes, rest }: Beginning = isShort
    ? { bytes: await wholeOf(body, options.arrived) }
    : await readBeginning(piecesOf(body.stream, limit, options.arrived), window, options.reserve)
  const keepsFilters = rest === undefined && operation.effect !== 'read'
  const judge = judgeBody(request, { keepsAll: isWhole, keepsFilters, maximumValueBytes: window })
  try {
    judge.text.push(bytes)
    if (rest !== undefined) return passStream(request, judge, rest, options)
    return await passWhole(request, judge, options)
  } catch (error) {
    await rest?.return()
    throw error
  }
}

async function passWhole(
  request: Permitted,
  judge: BodyJudge,
  { policies, limits }: CheckOptions,
): Promise<Consistent> {
  const { text, members } = judge
  const { operation } = request.meaning
  const isObject = text.end()
  if (!isObject) assertNoObject(request)
  assertEntryCount(operation, members, limits.maxBatchEntries)
  const body = { members: isObject ? members : {}, isWhole: true }
  const isBatch = operation.entries !== undefined
  const settled = isBatch ? await settleBatch(request, body, policies) : settle(request, body, policies)
  if (isObject) restateBody(settled, judge)
  const payload: Payload = { form: 'bytes', bytes: joined(text.takeRest()) }
  return pass(settled, payload, 'application/json', members)
}

function passStream(
  request: Permitted,
  judge: BodyJudge,
  rest: AsyncGenerator<Buffer, void>,
  options: CheckOptions,
): Consistent {
  judge.closeIntent()
  const settled = settle(request, { members: judge.members, isWhole: false }, options.policies)
  const body = streamedJson(judge.text, rest, (isObject) => {
    if (!isObject) assertNoObject(request)
    confirm(settled, options.policies)
  })
  // What is cut out on the way makes it shorter than it was sent.
  return pass(settled, { form: 'stream', body, length: undefined }, 'application/json', judge.members)
}

function passArrow(request: Permitted, body: DownstreamBody, options: CheckOptions): Consistent {
  if (request.contentType !== undefined && !arrowTypes.test(request.contentType)) {
    throw invalidInput(`the content-type is ${show(request.contentType)}; expected ${arrowStreamType}`)
  }
  if (request.contentEncoding !== undefined && request.contentEncoding !== 'identity') {
    throw invalidInput(
      `the content-encoding is ${show(request.contentEncoding)}; send the Arrow stream as it is`,
    )
  }
  const settled = settle(request, undefined, options.policies)
  if (!request.hasBody) return pass(settled, { form: 'none' }, arrowStreamType, {})
  const { contentLength: length } = request
  const { arrowBytes } = options.limits
  assertLength(length, arrowBytes)
  const meter = new ArrowMeter()
  const count = countBytes(arrowBytes, options.arrived)
  body.watch({
    chunk(bytes) {
      count(bytes)
      meter.push(bytes)
    },
    ...(isTimed(settled, options.policies) && { end: () => confirm(settled, options.policies) }),
  })
  return pass(settled, { form: 'stream', body: body.stream, length, meter }, arrowStreamType, {})
}

/** No body: operations that state something only in a body have stated nothing. */
function passWithout(request: Permitted, options: CheckOptions): Consistent {
  assertNoObject(request)
  const body = needsBody(request.meaning.operation) ? { members: {}, isWhole: true } : undefined
  return pass(settle(request, body, options.policies), { form: 'none' }, undefined, {})
}

/** Throws InvalidInput (400) if a body must be an object, and it is none. */
function assertNoObject({ meaning }: Permitted): void {
  if (meaning.operation.body === 'map') throw invalidInput('the body is empty; expected a JSON object')
}

function pass(
  request: Settled,
  payload: Payload,
  upstreamContentType: string | undefined,
  members: Members,
): Consistent {
  const allowedBy = decisionOf(request)
  if (allowedBy === undefined) throw invalidInput('the batch is empty; expected at least one operation')
  const details = commitDetails(request.meaning, request.stated, members)
  return consistent(request, {
    payload,
    upstreamContentType,
    allowedBy,
    details,
    restated: restateHead(request),
  })
}

function assertReadable(request: Permitted): void {
  const { contentType, contentEncoding } = request
  if (contentEncoding !== undefined && contentEncoding !== 'identity') {
    throw invalidInput(`the content-encoding is ${show(contentEncoding)}; a JSON body must be sent as it is`)
  }
  if (contentType === undefined) return
  const encoding = charset.exec(contentType)?.[1] ?? 'utf-8'
  if (!jsonTypes.test(contentType) || !/^utf-?8$/i.test(encoding)) {
    throw invalidInput(`the content-type is ${show(contentType)}; expected application/json in UTF-8`)
  }
}
