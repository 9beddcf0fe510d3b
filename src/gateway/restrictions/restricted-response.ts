import type { Schema } from 'apache-arrow/fb/schema'
import { badResponse, TransportError } from '../../http1/index.ts'
import { getMembers, isObject, parseJsonBytes, type Steps } from '../../lib/index.ts'
import {
  type ArrowField,
  maxMetadataBytes,
  MessageFrames,
  openFooter,
  readSchema,
  removeFooterMetadata,
  removeMessageMetadata,
} from '../../arrow/index.ts'
import { refusal } from '../../catalog-api/index.ts'
import { transformInSteps } from '../json/json-transformer.ts'
import { listStructs, type VisibleColumns } from '../../policy/index.ts'

/** Engines return a part of a struct as a column of its path, or within a struct that has only the parts asked for. */
function isRequested(field: ArrowField, prefix: string, columns: ReadonlySet<string>): boolean {
  const path = prefix + field.name
  if (columns.has(path)) return true
  return field.children.length > 0 && field.children.every((child) => isRequested(child, `${path}.`, columns))
}

const fileMagic = 'ARROW1'
const fileHeaderLength = 8

/**
 * Passes on a response in Arrow, a stream or a file, if it has no other columns than those that were asked for, and no
 * dictionaries, without the metadata of schema, fields, batches and footer: that may say anything of hidden rows and columns.
 * Its length stays. Errors do not name columns, which may be hidden.
 */
export class RestrictedRows {
  readonly #columns: ReadonlySet<string>
  #isFile = false
  /** Undefined until the form is known. */
  #frames: MessageFrames | undefined
  /** The bytes before the schema. */
  #held: Buffer[] = []

  constructor(columns: ReadonlySet<string>) {
    this.#columns = columns
  }

  /** Returns bytes to send: parts of the chunk, changed in place, or other memory. Throws TransportError. */
  push(chunk: Buffer): readonly Buffer[] {
    if (this.#frames !== undefined) return this.#pass(chunk, this.#frames)
    const start = Buffer.concat([...this.#held, chunk])
    this.#held = [start]
    if (start.length < fileHeaderLength) return []
    this.#isFile = start.toString('latin1', 0, fileMagic.length) === fileMagic
    const headerLength = this.#isFile ? fileHeaderLength : 0
    this.#held = [start.subarray(0, headerLength)]
    this.#frames = new MessageFrames(
      (message, metadata) => {
        if (message.kind === 'dictionary')
          throw badResponse('the response has a dictionary, which may hold values of hidden rows')
        if (message.kind === 'schema') this.#checkSchema(message.header, metadata.length)
        removeMessageMetadata(metadata)
      },
      this.#isFile ? maxMetadataBytes : 0,
    )
    return this.#pass(start.subarray(headerLength), this.#frames)
  }

  /** Returns the last bytes. Throws TransportError. */
  end(): readonly Buffer[] {
    const frames = this.#frames
    if (frames?.hasSchema !== true) throw badResponse('the response ends before its columns are known')
    if (!frames.isWhole) throw badResponse('the response is no whole Arrow stream')
    if (!this.#isFile) return []
    return toBadResponse(() => {
      const bytes = frames.takeRest()
      const footer = openFooter(bytes)
      this.#checkSchema(footer.schema(), bytes.length)
      removeFooterMetadata(footer)
      return [bytes]
    })
  }

  #pass(chunk: Buffer, frames: MessageFrames): readonly Buffer[] {
    const passed = toBadResponse(() => frames.push(chunk))
    if (frames.hasSchema) return [...this.#held.splice(0), ...passed]
    this.#held.push(...passed.map((bytes) => Buffer.from(bytes)))
    return []
  }

  #checkSchema(schema: Schema | null, maxBytes: number): void {
    if (schema === null) throw badResponse('a footer without a schema')
    const { fields } = readSchema(schema, maxBytes)
    if (!fields.every((field) => isRequested(field, '', this.#columns)))
      throw badResponse('the response has a column that was not asked for')
  }
}

/** Arrow that is malformed, or has metadata where none can be removed. */
function toBadResponse<Result>(read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    if (error instanceof TransportError) throw error
    // These texts are about the framing, and quote nothing of the response.
    const reason = error instanceof RangeError ? error.message : 'it is malformed'
    throw badResponse(`the response is not Arrow that can be read: ${reason}`)
  }
}

/** The members of a description that reveal nothing about hidden rows and columns. */
const describedMembers: ReadonlySet<string> = new Set(['table', 'namespace', 'version', 'schema'])

/**
 * Removes from the description of a table all but its id, its version and the visible columns: statistics count hidden rows, and
 * a location and metadata lead past the restriction. In steps, one for each field. Throws ServiceUnavailable (502) for a
 * response without a schema in the form of the catalog API.
 */
export function* trimDescription(body: Buffer, columns: VisibleColumns): Steps<Buffer> {
  const described = parseJsonBytes(yield* cutDescription(body))
  if (!isObject(described)) throw invalidDescription()
  const trimmed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(described))
    if (value !== null) trimmed[name] = name === 'schema' ? yield* trimSchema(value, columns) : value
  return Buffer.from(JSON.stringify(trimmed))
}

/** Removes metadata, and all else that callers may have made as large as they like: parsing takes no pauses. */
function* cutDescription(body: Buffer): Steps<Buffer> {
  try {
    return yield* transformInSteps(body, {
      visitMember: ({ name, depth }) =>
        (depth === 1 ? describedMembers.has(name) : name !== 'metadata') ? 'members' : 'removal',
    })
  } catch {
    throw invalidDescription()
  }
}

function* trimSchema(schema: unknown, columns: VisibleColumns): Steps<unknown> {
  const structs = new Set<string>()
  for (const path of columns.keys()) {
    for (const struct of listStructs(path)) structs.add(struct)
    yield
  }
  return { fields: yield* trimFields(getMembers(schema)['fields'], '', columns, structs) }
}

/** Keeps visible fields, and of a struct with visible fields only these. `structs` are the paths of those. */
function* trimFields(
  fields: unknown,
  prefix: string,
  columns: VisibleColumns,
  structs: ReadonlySet<string>,
): Steps<readonly unknown[]> {
  if (!Array.isArray(fields)) throw invalidDescription()
  const trimmed: unknown[] = []
  for (const field of fields as readonly unknown[]) {
    if (!isObject(field) || typeof field['name'] !== 'string') throw invalidDescription()
    const { name, type, nullable } = field
    const path = prefix + field['name']
    if (columns.has(path)) trimmed.push({ name, nullable, type })
    else if (structs.has(path) && isObject(type)) {
      const parts = yield* trimFields(type['fields'], `${path}.`, columns, structs)
      trimmed.push({ name, nullable, type: { ...type, fields: parts } })
    }
    yield
  }
  return trimmed
}

function invalidDescription(): Error {
  return refusal(
    'upstream_response_invalid',
    'the catalog described the table without a schema that can be restricted',
  )
}
