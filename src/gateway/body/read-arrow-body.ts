import { assertArrowContentType, arrowStreamType } from '../../catalog-api/headers.ts'
import { refusal } from '../../catalog-api/catalog-error.ts'
import { readSchemaStream } from '../../lib/arrow/schema.ts'
import type { DownstreamBody } from '../downstream.ts'
import { ArrowMeter } from './arrow-meter.ts'
import {
  assertUncompressed,
  createBodyWithoutMembers,
  type BodyLimits,
  type CheckedBody,
  type ReadableRequest,
} from './checked-body.ts'
import { checkSchemaMetadata } from './written-metadata.ts'
import { CheckedSource } from './checked-source.ts'
import { assertBodyLength, createByteCounter, readWholeBody, type BodyLimit } from './read-body.ts'

interface ArrowBodyOptions {
  readonly limits: BodyLimits
  /** Whether the mode of the request replaces the columns of the table. */
  readonly overwrites: boolean
}

/**
 * Checks the schema of an Arrow stream, and the headers of its batches as they pass. Nothing is forwarded before the
 * schema has been read. An empty body has none. Throws InvalidInput (400, 413) or Overloaded (503).
 */
export async function readArrowBody(
  request: ReadableRequest,
  body: DownstreamBody,
  { limits: { maxArrowBytes }, overwrites }: ArrowBodyOptions,
): Promise<CheckedBody> {
  const { contentType, contentEncoding, contentLength, hasBody } = request.head
  assertArrowContentType(contentType)
  assertUncompressed(contentEncoding, 'the Arrow stream')
  if (!hasBody) return createBodyWithoutMembers(undefined, arrowStreamType, () => ({ form: 'none' }))
  const limit: BodyLimit = { setting: 'maxArrowBytes', maxBytes: maxArrowBytes }
  assertBodyLength(contentLength, limit)
  const meter = createArrowMeter(request, overwrites)
  const count = createByteCounter(limit, request.countReceived)
  const upload = body.upload({
    chunk(bytes) {
      count(bytes.length)
      meter.push(bytes)
      if (!meter.hasSchema) request.reserveMemory(bytes.length)
    },
    needsMore: () => !meter.hasSchema,
  })
  await body.started()
  const { references, hasSchema } = meter
  if (!hasSchema && meter.getFacts().bytes > 0)
    throw refusal('malformed_body', 'the body ends before the schema of its Arrow IPC stream')
  const statement = { members: {}, isWhole: true, references }
  return createBodyWithoutMembers(statement, arrowStreamType, (_stated, check) => ({
    form: 'stream',
    body: new CheckedSource(upload, contentLength, check),
    length: contentLength,
    meter,
  }))
}

/** Nothing but a schema is forwarded: an upstream that ignores the content-type could read other bytes as JSON. */
export async function readArrowSchema(
  request: ReadableRequest,
  body: DownstreamBody,
  { limits: { maxJsonBytes }, overwrites }: ArrowBodyOptions,
): Promise<CheckedBody> {
  const { contentEncoding, contentLength } = request.head
  assertUncompressed(contentEncoding, 'the Arrow stream')
  const limit: BodyLimit = { setting: 'maxJsonBytes', maxBytes: maxJsonBytes }
  assertBodyLength(contentLength, limit)
  const bytes = await readWholeBody(body, limit, request)
  if (readSchemaStream(bytes) === undefined) {
    throw refusal('malformed_body', 'the body is not an Arrow IPC stream of a schema without rows')
  }
  const meter = createArrowMeter(request, overwrites)
  meter.push(bytes)
  const statement = { members: {}, isWhole: true, references: meter.references }
  return createBodyWithoutMembers(statement, arrowStreamType, () => ({ form: 'bytes', bytes, meter }))
}

function createArrowMeter({ route }: ReadableRequest, overwrites: boolean): ArrowMeter {
  const isIgnored = route.operation.columnMetadata === 'ignored' && !overwrites
  return new ArrowMeter((schema) => checkSchemaMetadata(schema, isIgnored))
}
