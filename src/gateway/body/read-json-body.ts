import { type Operation, quoteForMessage, refusal } from '../../catalog-api/index.ts'
import type { DownstreamBody, ReceivedHead } from '../downstream.ts'
import { concatChunks } from '../json/json-transformer.ts'
import { createBodyChecker, type JsonBodyOptions } from './body-checker.ts'
import { JsonSource, readInSlices } from './body-sources.ts'
import { type CheckedBody, emptyBody } from './checked-body.ts'
import {
  assertUncompressed,
  type BodyLimits,
  failIncomplete,
  type ReadableRequest,
  readWholeBody,
  startBody,
} from './read-bounded.ts'
import { restateBody } from './restate-facts.ts'
import { listWrittenReferences } from './written-metadata.ts'

/** Bytes of a read that are checked before any is sent. Almost all bodies of reads have fewer. */
const readWindowBytes = 256 * 1024

/**
 * Compares a JSON body with the route. The rest of a body that exceeds the window is checked while it streams, and a
 * contradiction aborts the request. Throws InvalidInput (400, 409, 413) or Overloaded (503).
 */
export async function readJsonBody(
  request: ReadableRequest,
  body: DownstreamBody,
  options: JsonBodyOptions,
): Promise<CheckedBody> {
  const { limits, needsWholeBody } = options
  const { head, route, runInSlices } = request
  const { operation } = route
  assertJsonHeaders(head)
  const window =
    needsWholeBody || operation.effect !== 'read'
      ? limits.maxJsonBytes
      : Math.min(readWindowBytes, limits.maxJsonBytes)
  const { contentLength } = head
  const fitsWindow = needsWholeBody || (contentLength !== undefined && contentLength <= window)
  const rest = fitsWindow ? undefined : await startJson(request, body, limits, window)
  const { bytes, isWhole } = rest?.takeStart() ?? {
    bytes: await readWholeBody(request, body, limits, needsWholeBody ? 'maxJsonBytes' : 'maxArrowBytes'),
    isWhole: true,
  }
  const checker = createBodyChecker(request, options, window, isWhole)
  const { json: text, members, allowedMembers } = checker
  await readInSlices(text, bytes, runInSlices)
  const checked = { ...emptyBody, mayState: true, members, allowedMembers, payloadType: 'application/json' }
  if (rest !== undefined && !isWhole) {
    checker.freezeAuditedMembers()
    return {
      ...checked,
      isWhole,
      createPayload: (_stated, check) => ({
        form: 'stream',
        body: rest.checkRest({
          text,
          runInSlices,
          onEnd: (isObject) => assertObject(operation, isObject),
          check,
        }),
        // Members may be removed on the way.
        length: undefined,
      }),
    }
  }
  const isObject = text.end()
  assertObject(operation, isObject)
  return {
    ...checked,
    references: listWrittenReferences(operation, members),
    job: checker.getJob(),
    createPayload(stated) {
      if (isObject) restateBody(operation, stated, checker)
      return { form: 'bytes', bytes: concatChunks(text.takeRest()) }
    },
  }
}

/** Starts a body of which more than the window must be read before any is sent. */
async function startJson(
  request: ReadableRequest,
  body: DownstreamBody,
  limits: BodyLimits,
  window: number,
): Promise<JsonSource> {
  let received = 0
  const source = await startBody(request, body, limits, {
    push({ length }) {
      if (received <= window) request.reserveMemory(length)
      received += length
    },
    needsMore: () => received <= window,
  }).catch(failIncomplete)
  return new JsonSource(source)
}

/** Operations that state something only in a body have stated nothing. */
export function readNoBody(operation: Operation, mayState: boolean): CheckedBody {
  assertObject(operation, false)
  return { ...emptyBody, mayState }
}

/** Throws InvalidInput (400) if the operation requires an object as body. */
function assertObject(operation: Operation, isObject: boolean): void {
  if (!isObject && operation.body === 'map')
    throw refusal('invalid_body', 'the body is empty; expected a JSON object')
}

const jsonContentType = /^(?:application\/json|application\/octet-stream|text\/json)\s*(?:;|$)/i
const charsetParameter = /;\s*charset\s*=\s*"?([^\s";]*)/i

/** Throws InvalidInput (400) for a body that is not JSON in UTF-8, or compressed. */
function assertJsonHeaders({ contentType, contentEncoding }: ReceivedHead): void {
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
