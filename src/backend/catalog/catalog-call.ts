import type { Identifier, OperationName, operations } from 'catalog-gateway/catalog-api'
import type { DescribedOperation, RequestOf, ResponseOf } from '../schemas/operation-schemas.ts'
import type { SchemaDialect } from '../engine/schema/schema-json.ts'

export type RequestMembers = Readonly<Record<string, unknown>>

/** The method of each operation. */
export type CatalogOperations = {
  readonly [Name in OperationName]: (call: CatalogCall<Name>) => Promise<OperationResult<Name>>
}

/** A checked request: body, route and headers agree. The envelope of the body is in `id`. */
export interface CatalogCall<Name extends OperationName> {
  /** Empty for the root, and for operations whose route names no object. */
  readonly id: Identifier
  /** Empty if the route names no index. */
  readonly indexName: string
  /** Joins the parts of an id in this request and in the response to ListAllTables. */
  readonly delimiter: string
  /** The members parsed by the operation's schema, with defaults; those of the query if a schema of new columns is uploaded. */
  readonly request: OperationRequest<Name>
  readonly upload: OperationUpload<Name>
  readonly schemaDialect: SchemaDialect
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
