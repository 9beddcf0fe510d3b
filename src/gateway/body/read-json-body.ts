import { type Operation, quoteForMessage, refusal } from '../../catalog-api/index.ts'
import { runAtOnce } from '../../lib/index.ts'
import type { DownstreamBody, ReceivedHead } from '../downstream.ts'
import { createBodyChecker, type JsonBodyOptions } from './body-checker.ts'
import { type CheckedBody, emptyBody } from './checked-body.ts'
import { assertUncompressed, type ReadableRequest, readWholeBody } from './read-bounded.ts'
import { restateBody } from './restate-facts.ts'
import { listWrittenReferences } from './written-metadata.ts'

/** Reading a smaller body costs less than a pause. */
const minSlicedBytes = 1024

/** Reads a JSON body, and compares it with the route. Throws InvalidInput (400, 409, 413) or Overloaded (503). */
export async function readJsonBody(
  request: ReadableRequest,
  body: DownstreamBody,
  options: JsonBodyOptions,
): Promise<CheckedBody> {
  const { operation } = request.route
  assertJsonHeaders(request.head)
  const bytes = await readWholeBody(request, body, options.limits)
  const checker = createBodyChecker(request, bytes, options)
  const { json, members, allowedMembers } = checker
  const isObject =
    bytes.length < minSlicedBytes ? runAtOnce(json.read()) : await request.runInSlices(json.read())
  assertObject(operation, isObject)
  return {
    ...emptyBody,
    mayState: true,
    members,
    allowedMembers,
    references: listWrittenReferences(operation, members),
    job: checker.getJob(),
    payloadType: 'application/json',
    createPayload(stated) {
      if (isObject) restateBody(operation, stated, checker)
      return { form: 'bytes', bytes: runAtOnce(json.write()) }
    },
  }
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
