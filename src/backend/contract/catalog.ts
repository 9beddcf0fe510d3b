import type {
  DescribedOperation,
  Identifier,
  OperationName,
  operations,
  RequestOf,
  ResponseOf,
} from 'catalog-gateway/catalog-api'
import type { SchemaDialect } from '../engine/schema/schema-dialect.ts'

export type RequestMembers = Readonly<Record<string, unknown>>

/** Implemented by the embedded catalog and by a client of a remote one. Does not depend on HTTP or routes. */
export interface Catalog {
  /** Resolves with JSON members, the chunks of Arrow IPC data, or nothing. Throws CatalogError. */
  execute(name: OperationName, call: CatalogCall<OperationName>): Promise<unknown>
  /** Rejects if requests cannot be served now. */
  checkReady(): Promise<void>
  /** False if the catalog has made no progress for so long that only a restart helps. */
  isAlive(): boolean
  /** Releases all resources after the active requests have ended. */
  close(): Promise<void>
}

/** The methods of a catalog that executes the operations itself. */
export type CatalogOperations = {
  readonly [Name in OperationName]: (call: CatalogCall<Name>) => Promise<OperationResult<Name>>
}

/** A checked request: body, route and headers agree. The envelope of the body is in `id` and `caller`. */
export interface CatalogCall<Name extends OperationName> {
  /** Empty for the root, and for operations whose route names no object. */
  readonly id: Identifier
  /** The alias by which a catalog that forwards the request sends it; undefined for the path of the operation. */
  readonly alias: string | undefined
  /** Empty if the route names no index. */
  readonly indexName: string
  /** Joins the parts of an id in this request and in the response to ListAllTables. */
  readonly delimiter: string
  /** The members parsed by the operation's schema, with defaults; none if a schema of new columns is uploaded. */
  readonly request: OperationRequest<Name>
  /** The members as sent, for a catalog that forwards them: it has its own defaults, and may know other members. */
  readonly sentMembers: RequestMembers
  readonly upload: OperationUpload<Name>
  readonly schemaDialect: SchemaDialect
  readonly caller: CatalogCaller
}

/** The caller; headers take precedence over the body. */
export interface CatalogCaller {
  readonly requestId: string
  readonly identity: { readonly apiKey: string | undefined; readonly authToken: string | undefined }
  readonly context: ReadonlyMap<string, string>
  /** Aborted if the client disconnects before its response is complete. */
  readonly signal: AbortSignal
}

export interface Upload {
  /** Readable once, with backpressure. Throws InvalidInput (400) if the body is truncated. */
  readonly chunks: AsyncIterable<Uint8Array>
  /** Bytes, if announced. */
  readonly length: number | undefined
}

/** The parsed request of an operation; for an operation without a schema, the members as sent. */
export type OperationRequest<Name extends OperationName> = Name extends DescribedOperation
  ? Name extends OperationsMatching<{ alsoArrowSchema: true }>
    ? Partial<RequestOf<Name>>
    : RequestOf<Name>
  : RequestMembers

type OperationResult<Name extends OperationName> =
  Name extends OperationsMatching<{ response: 'empty' }>
    ? void
    : Name extends OperationsMatching<{ response: 'arrow' | 'arrow-stream' }>
      ? AsyncIterable<Uint8Array>
      : Name extends DescribedOperation
        ? ResponseOf<Name>
        : RequestMembers

type OperationUpload<Name extends OperationName> =
  Name extends OperationsMatching<{ body: 'arrow' }>
    ? Upload
    : Name extends OperationsMatching<{ alsoArrowSchema: true }>
      ? Upload | undefined
      : undefined

type OperationsMatching<Facts> = {
  [Name in OperationName]: (typeof operations)[Name] extends Facts ? Name : never
}[OperationName]
