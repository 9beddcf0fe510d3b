import { hash } from 'node:crypto'
import { arrowStreamType, assertArrowContentType, CatalogError, refusal } from '../../catalog-api/index.ts'
import {
  type ArrowField,
  type ArrowMessage,
  MessageFrames,
  readSchema,
  readSchemaStream,
} from '../../arrow/index.ts'
import type { UploadFacts } from '../../audit/index.ts'
import type { DownstreamBody } from '../downstream.ts'
import { type CheckedBody, emptyBody } from './checked-body.ts'
import { createCheckedSource } from './checked-source.ts'
import {
  assertUncompressed,
  type BodyLimits,
  createByteCounter,
  type ReadableRequest,
  readWholeBody,
} from './read-bounded.ts'
import { checkSchemaMetadata } from './written-metadata.ts'

/**
 * Checks the schema of an Arrow stream, and the headers of its batches as they pass. Nothing is forwarded before the
 * schema has been read. An empty body has none. Throws InvalidInput (400, 413) or Overloaded (503).
 */
export async function readArrowBody(
  request: ReadableRequest,
  body: DownstreamBody,
  limits: BodyLimits,
  meter: ArrowMeter,
): Promise<CheckedBody> {
  const { contentType, contentEncoding, contentLength, hasBody } = request.head
  assertArrowContentType(contentType)
  assertUncompressed(contentEncoding, 'the Arrow stream')
  if (!hasBody) return { ...emptyBody, payloadType: arrowStreamType }
  const count = createByteCounter(request, limits, 'maxArrowBytes')
  let reserved = 0
  const upload = await body.open({
    chunk(chunk) {
      count(chunk.length)
      meter.push(chunk)
      const { heldBytes } = meter.frames
      if (heldBytes > reserved) request.reserveMemory(heldBytes - reserved)
      reserved = Math.max(reserved, heldBytes)
    },
    awaitsMore: () => !meter.frames.hasSchema,
  })
  if (!meter.frames.hasSchema && meter.getFacts().bytes > 0)
    throw refusal('malformed_body', 'the body ends before the schema of its Arrow IPC stream')
  return {
    ...createArrowBody(meter),
    createPayload: (_stated, check) => ({
      form: 'stream',
      body: createCheckedSource(upload, contentLength, check),
      length: contentLength,
      meter,
    }),
  }
}

/** Nothing but a schema is forwarded: an upstream that ignores the content-type could read other bytes as JSON. */
export async function readArrowSchema(
  request: ReadableRequest,
  body: DownstreamBody,
  limits: BodyLimits,
  meter: ArrowMeter,
): Promise<CheckedBody> {
  assertUncompressed(request.head.contentEncoding, 'the Arrow stream')
  const bytes = await readWholeBody(request, body, limits)
  if (readSchemaStream(bytes) === undefined) {
    throw refusal('malformed_body', 'the body is not an Arrow IPC stream of a schema without rows')
  }
  meter.push(bytes)
  return { ...createArrowBody(meter), createPayload: () => ({ form: 'bytes', bytes, meter }) }
}

function createArrowBody({ references }: ArrowMeter) {
  return { ...emptyBody, mayState: true, references, payloadType: arrowStreamType }
}

/**
 * Checks and measures an Arrow IPC stream in passing, from its message headers alone: no data is decoded, and none is
 * copied except a header that spans several chunks. It never changes a byte. The claims of a header are not verified
 * against the data.
 */
export class ArrowMeter {
  /** Extension types in the schema whose values can refer to other objects. */
  references: readonly string[] = []
  readonly frames = new MessageFrames((message, metadata) => this.#readMessage(message, metadata.length))
  readonly #ignoresMetadata: boolean
  #bytes = 0
  #batches = 0
  #rows = 0
  #schema: string | undefined
  #problem: string | undefined

  /** `ignoresMetadata`: the metadata of columns has no effect (checkSchemaMetadata). */
  constructor(ignoresMetadata: boolean) {
    this.#ignoresMetadata = ignoresMetadata
  }

  /**
   * Reads the next chunk. The chunk is not used after the call. Throws InvalidInput (400) if the bytes so far begin no
   * Arrow IPC stream with one schema, which some reader could understand otherwise, and the error of the check.
   */
  push(chunk: Buffer): void {
    this.#bytes += chunk.length
    try {
      if (this.#problem === undefined) this.frames.push(chunk)
    } catch (error) {
      if (error instanceof CatalogError) throw error
      this.#problem = error instanceof RangeError ? error.message : 'a header is malformed'
    }
    if (this.#problem === undefined) return
    throw refusal('malformed_body', `the body is not an Arrow IPC stream that can be read: ${this.#problem}`)
  }

  /** Returns the facts measured so far. */
  getFacts(): UploadFacts {
    const unread = this.#problem ?? (this.frames.isWhole ? undefined : 'truncated')
    return {
      bytes: this.#bytes,
      batches: this.#batches,
      rows: this.#rows,
      ...(this.#schema !== undefined && { schema: this.#schema }),
      ...(this.references.length > 0 && { references: this.references }),
      ...(unread !== undefined && { unread }),
    }
  }

  #readMessage({ kind, header }: ArrowMessage, bytes: number): void {
    if (kind === 'schema') {
      const schema = readSchema(header, bytes)
      this.references = checkSchemaMetadata(schema, this.#ignoresMetadata)
      this.#schema = hash('sha256', JSON.stringify(schema.fields.map(formatField)))
    } else if (kind === 'batch') {
      const rows = Number(header.length())
      this.#batches += 1
      if (rows < 0) throw new RangeError('a batch has a negative number of rows')
      this.#rows += rows
    }
  }
}

/**
 * Returns a field in the canonical form that the fingerprint of a schema is computed from, as JSON without spaces:
 * `[name, nullable, [type, ...parameters], dictionary, [...children]]`. The type is its number in the union `Type` of Arrow's
 * Schema.fbs, followed by its parameters in the order of that file with defaults filled in, a missing time zone as an empty one;
 * the dictionary is null, or `[bits, signed]` of its indices. Metadata, endianness and dictionary ids are omitted: they
 * differ between writers of the same table.
 */
function formatField({ name, nullable, type, indexType, children }: ArrowField): readonly unknown[] {
  const parameters = Object.values(type).flatMap((parameter) => parameter ?? '')
  const dictionary = indexType === undefined ? null : [indexType.bits, indexType.signed]
  return [name, nullable, parameters, dictionary, children.map(formatField)]
}
