import { Readable } from 'node:stream'
import type { RunInSlices } from '../../lib/async/run-in-slices.ts'
import type { JsonTransformer } from '../json/json-transformer.ts'
import type { CheckDecision } from './checked-source.ts'
import { refusal } from '../../catalog-api/catalog-error.ts'
import type { Operation } from '../../catalog-api/operations.ts'
import { StreamSource } from '../../http1/client/stream-source.ts'
import type { DownstreamBody } from '../downstream.ts'
import type { NamedWork } from '../facts/sealed-ids.ts'
import { createBodyChecker, type BodyChecker } from './body-checker.ts'
import {
  assertJsonHeaders,
  createBodyWithoutMembers,
  type BodyLimits,
  type CheckedBody,
  type ReadableRequest,
} from './checked-body.ts'
import {
  assertBodyLength,
  concatChunks,
  readBodyStart,
  readChunks,
  readWholeBody,
  type BodyLimit,
} from './read-body.ts'
import { restateBody } from './restate-facts.ts'
import { listWrittenReferences } from './written-metadata.ts'

const highWaterMark = 64 * 1024

/** Reading a smaller chunk costs less than a pause. */
const minSlicedBytes = 1024

/** Reads a chunk of a body in slices, in which the event loop serves other callers. */
async function readInSlices(text: JsonTransformer, chunk: Buffer, runInSlices: RunInSlices): Promise<void> {
  if (chunk.length < minSlicedBytes) text.push(chunk)
  else await runInSlices(text.pushInSteps(chunk))
}

/**
 * Streams a checked JSON body: the part that has been read, then the rest as it arrives. The last chunk, and the
 * last byte of the JSON, are held back until `onEnd` and `check` have accepted the whole body. The stream fails at the first
 * error, so the upstream never receives complete JSON before all checks have passed.
 */
function createJsonStream(
  text: JsonTransformer,
  rest: AsyncGenerator<Buffer, void>,
  runInSlices: RunInSlices,
  onEnd: (isObject: boolean) => void,
  check: CheckDecision,
): Readable {
  const stream = Readable.from(readCheckedChunks(text, rest, runInSlices, onEnd, check), {
    objectMode: false,
    highWaterMark,
  })
  // An attempt that has ended no longer listens for errors of the remaining body.
  stream.on('error', () => undefined)
  // Closing a generator that was never started does not close the inner generator.
  return stream.once('close', () => void rest.return())
}

async function* readCheckedChunks(
  text: JsonTransformer,
  rest: AsyncIterable<Buffer>,
  runInSlices: RunInSlices,
  onEnd: (isObject: boolean) => void,
  check: CheckDecision,
): AsyncGenerator<Buffer, void> {
  for await (const chunk of rest) {
    await readInSlices(text, chunk, runInSlices)
    yield* text.takeReady()
    await check('meanwhile')
  }
  onEnd(text.end())
  await check('end')
  yield* text.takeRest()
}

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
  const { head, route, countReceived, reserveMemory, runInSlices } = request
  const { contentLength } = head
  const { operation } = route
  assertJsonHeaders(head)
  const window =
    needsWholeBody || operation.effect !== 'read'
      ? limits.maxJsonBytes
      : Math.min(readWindowBytes, limits.maxJsonBytes)
  const setting = needsWholeBody ? 'maxJsonBytes' : 'maxArrowBytes'
  const limit: BodyLimit = { setting, maxBytes: limits[setting] }
  assertBodyLength(contentLength, limit)
  const fitsWindow = contentLength !== undefined && contentLength <= window
  if (fitsWindow) reserveMemory(contentLength)
  const { bytes, rest } = fitsWindow
    ? { bytes: await readWholeBody(body, countReceived), rest: undefined }
    : await readBodyStart(readChunks(body.stream, limit, countReceived), window, reserveMemory)
  const checker = createBodyChecker(request, {
    retainsAll: needsWholeBody,
    retainsFilters: rest === undefined && operation.effect !== 'read',
    maxValueBytes: window,
    maxValues: limits.maxJsonValues,
    maxBatchEntries: limits.maxBatchEntries,
    openJob,
  })
  await readInSlices(checker.json, bytes, runInSlices)
  return rest === undefined ? endWhole(request, checker) : streamRest(request, checker, rest)
}

function endWhole(request: ReadableRequest, checker: BodyChecker): CheckedBody {
  const { json, members, allowedMembers } = checker
  const { operation } = request.route
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
  rest: AsyncGenerator<Buffer, void>,
): CheckedBody {
  const { json, members, allowedMembers } = checker
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
    createPayload(_stated, check) {
      const stream = createJsonStream(json, rest, runInSlices, onEnd, check)
      // Members may be removed on the way, so the length is unknown.
      return { form: 'stream', body: new StreamSource(stream), length: undefined }
    },
  }
}

/** Operations that state something only in a body have stated nothing. */
export function readNoBody(
  { head, route: { operation } }: ReadableRequest,
  requiresBody: boolean,
): CheckedBody {
  assertBodyNotRequired(operation)
  const statement = requiresBody ? { members: {}, isWhole: true } : undefined
  // A GET is forwarded as POST, which some catalogs refuse without JSON.
  return head.method === 'GET' && operation.body === 'json'
    ? createBodyWithoutMembers(statement, 'application/json', () => ({
        form: 'bytes',
        bytes: Buffer.from('{}'),
      }))
    : createBodyWithoutMembers(statement, undefined, () => ({ form: 'none' }))
}

/** Throws InvalidInput (400) if the operation requires an object as body. */
function assertBodyNotRequired(operation: Operation): void {
  if (operation.body === 'map') throw refusal('invalid_body', 'the body is empty; expected a JSON object')
}
