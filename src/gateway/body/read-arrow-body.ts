import { arrowStreamType, assertArrowContentType, CatalogError, refusal } from '../../catalog-api/index.ts'
import {
  type ArrowField,
  type ArrowMessage,
  type ArrowSchema,
  type ArrowType,
  MessageFrames,
  readSchema,
  readSchemaStream,
} from '../../arrow/index.ts'
import type { DownstreamBody } from '../downstream.ts'
import { type CheckedBody, emptyBody } from './checked-body.ts'
import {
  assertUncompressed,
  type BodyLimits,
  type ReadableRequest,
  readWholeBody,
  startBody,
} from './read-bounded.ts'
import { checkSchemaMetadata } from './written-metadata.ts'
import { CheckedSource } from './checked-source.ts'
import { hash } from 'node:crypto'
import type { UploadFacts } from '../../audit/index.ts'

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
  { limits, overwrites }: ArrowBodyOptions,
): Promise<CheckedBody> {
  const { contentType, contentEncoding, contentLength, hasBody } = request.head
  assertArrowContentType(contentType)
  assertUncompressed(contentEncoding, 'the Arrow stream')
  if (!hasBody) return { ...emptyBody, payloadType: arrowStreamType }
  const meter = createArrowMeter(request, overwrites)
  let reserved = 0
  const upload = await startBody(request, body, limits, {
    push(chunk) {
      meter.push(chunk)
      const missing = meter.heldBytes - reserved
      if (missing <= 0) return
      request.reserveMemory(missing)
      reserved += missing
    },
    needsMore: () => !meter.hasSchema,
  })
  if (!meter.hasSchema && meter.getFacts().bytes > 0)
    throw refusal('malformed_body', 'the body ends before the schema of its Arrow IPC stream')
  return {
    ...createArrowBody(meter),
    createPayload: (_stated, check) => ({
      form: 'stream',
      body: new CheckedSource(upload, contentLength, check),
      length: contentLength,
      meter,
    }),
  }
}

/** Nothing but a schema is forwarded: an upstream that ignores the content-type could read other bytes as JSON. */
export async function readArrowSchema(
  request: ReadableRequest,
  body: DownstreamBody,
  { limits, overwrites }: ArrowBodyOptions,
): Promise<CheckedBody> {
  assertUncompressed(request.head.contentEncoding, 'the Arrow stream')
  const bytes = await readWholeBody(request, body, limits)
  if (readSchemaStream(bytes) === undefined) {
    throw refusal('malformed_body', 'the body is not an Arrow IPC stream of a schema without rows')
  }
  const meter = createArrowMeter(request, overwrites)
  meter.push(bytes)
  return { ...createArrowBody(meter), createPayload: () => ({ form: 'bytes', bytes, meter }) }
}

function createArrowBody({ references }: ArrowMeter) {
  return { ...emptyBody, mayState: true, references, payloadType: arrowStreamType }
}

function createArrowMeter({ route }: ReadableRequest, overwrites: boolean): ArrowMeter {
  const isIgnored = route.operation.columnMetadata === 'ignored' && !overwrites
  return new ArrowMeter((schema) => checkSchemaMetadata(schema, isIgnored))
}

/** Returns the extension types of a schema whose values can refer to other objects. Throws CatalogError to refuse it. */
type CheckSchema = (schema: ArrowSchema) => readonly string[]

/**
 * Checks and measures an Arrow IPC stream in passing, from its message headers alone: no data is decoded, and none is
 * copied except a header that spans several chunks. It never changes a byte. The claims of a header are not verified
 * against the data.
 */
export class ArrowMeter {
  /** Extension types in the schema whose values can refer to other objects. */
  references: readonly string[] = []
  readonly #checkSchema: CheckSchema
  #bytes = 0
  #batches = 0
  #rows = 0
  #schema: string | undefined
  #problem: string | undefined
  readonly #frames = new MessageFrames((message, metadata) => this.#readMessage(message, metadata.length))

  constructor(checkSchema: CheckSchema) {
    this.#checkSchema = checkSchema
  }

  /** Whether the schema has been read and checked. */
  get hasSchema(): boolean {
    return this.#frames.hasSchema
  }

  /** Bytes of a header that has not arrived as a whole. */
  get heldBytes(): number {
    return this.#frames.heldBytes
  }

  /**
   * Reads the next chunk. The chunk is not used after the call. Throws InvalidInput (400) if the bytes so far begin no
   * Arrow IPC stream with one schema, which some reader could understand otherwise, and the error of the check.
   */
  push(chunk: Buffer): void {
    this.#bytes += chunk.length
    try {
      if (this.#problem === undefined) this.#frames.push(chunk)
    } catch (error) {
      if (error instanceof CatalogError) throw error
      this.#problem = error instanceof RangeError ? error.message : 'a header is malformed'
    }
    if (this.#problem === undefined) return
    throw refusal('malformed_body', `the body is not an Arrow IPC stream that can be read: ${this.#problem}`)
  }

  /** Returns the facts measured so far. */
  getFacts(): UploadFacts {
    const unread = this.#problem ?? (this.#frames.isWhole ? undefined : 'truncated')
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
      this.references = this.#checkSchema(schema)
      this.#schema = hash('sha256', formatSchemaFields(schema))
    } else if (kind === 'batch') {
      const rows = Number(header.length())
      this.#batches += 1
      if (rows < 0) throw new RangeError('a batch has a negative number of rows')
      this.#rows += rows
    }
  }
}

/** A field: name, nullable, type, dictionary, children. */
type FieldText = readonly [
  string,
  boolean,
  readonly unknown[],
  readonly unknown[] | null,
  readonly FieldText[],
]

/**
 * Formats the fields of a schema in the canonical form that its fingerprint is computed from: JSON without spaces, each
 * field `[name, nullable, [type, ...parameters], dictionary, [...children]]`. The type is its number in the union
 * `Type` of Arrow's Schema.fbs, followed by its parameters in the order of that file with defaults filled in; the
 * dictionary is null, or `[bits, signed]` of its indices. Metadata, endianness and dictionary ids are omitted: they
 * differ between writers of the same table.
 */
function formatSchemaFields(schema: ArrowSchema): string {
  return JSON.stringify(schema.fields.map(formatField))
}

function formatField({ name, nullable, type, indexType, children }: ArrowField): FieldText {
  const dictionary = indexType === undefined ? null : [indexType.bits, indexType.signed]
  return [name, nullable, formatType(type), dictionary, children.map(formatField)]
}

/** A missing time zone is formatted as an empty one. */
function formatType(type: ArrowType): readonly unknown[] {
  return Object.values(type).flatMap((parameter) => parameter ?? '')
}
