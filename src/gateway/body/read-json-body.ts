import { type Operation, refusal } from '../../catalog-api/index.ts'
import type { DownstreamBody } from '../downstream.ts'
import type { NamedWork } from '../sealed-tokens.ts'
import { createBodyChecker, type BodyChecker } from './body-checker.ts'
import {
  assertJsonHeaders,
  createBodyWithoutMembers,
  type BodyLimits,
  type CheckedBody,
  type ReadableRequest,
  concatChunks,
  readWholeBody,
  startBody,
  type BodyLimit,
} from './checked-body.ts'
import { JsonSource, readInSlices } from './body-sources.ts'
import { restateBody } from './restate-facts.ts'
import { listWrittenReferences } from './written-metadata.ts'

interface JsonBodyOptions {
  readonly limits: BodyLimits
  /** Whether the body may affect a decision, so that nothing is forwarded before all of it has been read. */
  readonly needsWholeBody: boolean
  /** Returns the job of a sealed id. */
  readonly openJob: (jobId: string) => NamedWork | undefined
}

/** Bytes of a read that are checked before any is sent. Almost all bodies of reads have fewer. */
const readWindowBytes = 256 * 1024

/**
 * Compares a JSON body with the route. The rest of a body that exceeds the window is checked while it streams, and a
 * contradiction aborts the request. Throws InvalidInput (400, 409, 413) or Overloaded (503).
 */
export async function readJsonBody(
  request: ReadableRequest,
  body: DownstreamBody,
  { limits, needsWholeBody, openJob }: JsonBodyOptions,
): Promise<CheckedBody> {
  const { head, route, runInSlices } = request
  const { contentLength } = head
  const { operation } = route
  assertJsonHeaders(head)
  const window =
    needsWholeBody || operation.effect !== 'read'
      ? limits.maxJsonBytes
      : Math.min(readWindowBytes, limits.maxJsonBytes)
  const setting = needsWholeBody ? 'maxJsonBytes' : 'maxArrowBytes'
  const limit: BodyLimit = { setting, maxBytes: limits[setting] }
  const fitsWindow = needsWholeBody || (contentLength !== undefined && contentLength <= window)
  const rest = fitsWindow ? undefined : new JsonSource(await startBody(body, window, limit, request))
  const { bytes, isWhole } = rest?.takeStart() ?? {
    bytes: await readWholeBody(body, limit, request),
    isWhole: true,
  }
  const checker = createBodyChecker(request, {
    retainsAll: needsWholeBody,
    retainsFilters: isWhole && operation.effect !== 'read',
    maxValueBytes: window,
    maxValues: limits.maxJsonValues,
    maxBatchEntries: limits.maxBatchEntries,
    openJob,
  })
  await readInSlices(checker.json, bytes, runInSlices)
  return rest === undefined || isWhole ? endWhole(request, checker) : streamRest(request, checker, rest)
}

function endWhole({ route: { operation } }: ReadableRequest, checker: BodyChecker): CheckedBody {
  const { json, members, allowedMembers } = checker
  const isObject = json.end()
  if (!isObject) assertBodyNotRequired(operation)
  const references = listWrittenReferences(operation, members)
  const job = checker.getJob()
  return {
    statement: { members: isObject ? members : {}, isWhole: true, references, job },
    members,
    allowedMembers,
    job,
    payloadType: 'application/json',
    createPayload(stated) {
      if (isObject) restateBody(operation, stated, checker)
      return { form: 'bytes', bytes: concatChunks(json.takeRest()) }
    },
  }
}

function streamRest(
  { route: { operation }, runInSlices }: ReadableRequest,
  checker: BodyChecker,
  rest: JsonSource,
): CheckedBody {
  const { json: text, members, allowedMembers } = checker
  checker.freezeAuditedMembers()
  const onEnd = (isObject: boolean): void => {
    if (!isObject) assertBodyNotRequired(operation)
  }
  return {
    statement: { members, isWhole: false },
    members,
    allowedMembers,
    job: undefined,
    payloadType: 'application/json',
    createPayload: (_stated, check) => ({
      form: 'stream',
      body: rest.checkRest({ text, runInSlices, onEnd, check }),
      // Members may be removed on the way.
      length: undefined,
    }),
  }
}

/** Operations that state something only in a body have stated nothing. */
export function readNoBody(operation: Operation, requiresBody: boolean): CheckedBody {
  assertBodyNotRequired(operation)
  const statement = requiresBody ? { members: {}, isWhole: true } : undefined
  return createBodyWithoutMembers(statement, undefined, () => ({ form: 'none' }))
}

/** Throws InvalidInput (400) if the operation requires an object as body. */
function assertBodyNotRequired(operation: Operation): void {
  if (operation.body === 'map') throw refusal('invalid_body', 'the body is empty; expected a JSON object')
}
