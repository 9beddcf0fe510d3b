import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { operations, OperationName } from '../../catalog-api/operations.ts'
import type {
  DescribedOperation,
  RequestOf,
  ResponseOf,
} from '../../catalog-api/schemas/operation-schemas.ts'
import type { SchemaDialect } from '../engine/schema/json-arrow-schema.ts'

/** The members of a request by name, as they were sent. */
export type RequestMembers = Readonly<Record<string, unknown>>

/**
 * A catalog as the server sees it: one method an operation, which throws InterfaceError. The embedded catalog is
 * one, a client of a server elsewhere another; neither is told of HTTP, of routes, or of how a request was sent.
 */
export interface Catalog extends CatalogOperations {
  /** Rejects where requests could not be answered now. */
  checkReady(): Promise<void>
  /** False when work of the catalog has made no progress for so long that only a restart helps. */
  isAlive(): boolean
  /** Lets go of everything, when the requests under way have ended. */
  close(): Promise<void>
}

/** The operations of the interface as methods. */
export type CatalogOperations = {
  readonly [Name in OperationName]: (call: CatalogCall<Name>) => Promise<OperationResult<Name>>
}

/**
 * A request that has been checked: body, route and headers agree, and what one of them lacks is taken from the
 * others. The envelope of the body (`id`, `identity`, `context`) has gone into `id` and `caller`.
 */
export interface CatalogCall<Name extends OperationName> {
  /** Empty for the root, and for operations whose route names no object. */
  readonly id: Identifier
  /** Empty where the route names no index. */
  readonly indexName: string
  /** What joins the parts of an id in this request, and in the answer to ListAllTables. */
  readonly delimiter: string
  /** What the schema of the operation makes of the members: every default filled in. */
  readonly request: OperationRequest<Name>
  /**
   * The same members as they were sent, for a catalog that passes them on: what was left unset is for that one to
   * decide, and it may know members that are not in our schemas.
   */
  readonly sentMembers: RequestMembers
  readonly upload: OperationUpload<Name>
  /** The vocabulary of type names that DescribeTable answers in. */
  readonly schemaDialect: SchemaDialect
  readonly caller: CatalogCaller
}

/** Who asks: what the headers say or, where they say nothing, the body. */
export interface CatalogCaller {
  readonly requestId: string
  readonly identity: { readonly apiKey: string | undefined; readonly authToken: string | undefined }
  readonly context: ReadonlyMap<string, string>
  /** Aborted when the client leaves before its answer is complete. */
  readonly signal: AbortSignal
}

/** An Arrow IPC stream that is being received. */
export interface Upload {
  /** To be read once, no faster than it is used. Throws InvalidInput (400) where it is cut short. */
  readonly chunks: AsyncIterable<Uint8Array>
  /** Bytes, where they were announced. */
  readonly length: number | undefined
}

/** What an operation is told; for an operation without a schema, whatever was sent. */
export type OperationRequest<Name extends OperationName> = Name extends DescribedOperation
  ? RequestOf<Name>
  : RequestMembers

/** What an operation answers: the members of JSON, the pieces of one Arrow IPC file, or nothing. */
type OperationResult<Name extends OperationName> =
  Name extends OperationsMatching<{ response: 'empty' }>
    ? void
    : Name extends OperationsMatching<{ response: 'arrow' }>
      ? AsyncIterable<Uint8Array>
      : Name extends DescribedOperation
        ? ResponseOf<Name>
        : RequestMembers

type OperationUpload<Name extends OperationName> =
  Name extends OperationsMatching<{ body: 'arrow' }> ? Upload : undefined

/** The names of the operations of which the table says that. */
type OperationsMatching<Facts> = {
  [Name in OperationName]: (typeof operations)[Name] extends Facts ? Name : never
}[OperationName]
