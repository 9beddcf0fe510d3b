import type { Identifier, OperationName, operations } from 'catalog-gateway/catalog-api'
import type { RequestOf, ResponseOf } from '../schemas/operation-schemas.ts'
import type { SchemaDialect } from '../engine/schema/schema-json.ts'
import type { CatalogContext } from './context.ts'

export type RequestMembers = Readonly<Record<string, unknown>>

/** Carries out a checked request. Throws CatalogError. */
type Operation<Name extends OperationName> = (
  context: CatalogContext,
  call: CatalogCall<Name>,
) => Promise<OperationResult<Name>>

/** Some operations by their names. */
export type Operations = { readonly [Name in OperationName]?: Operation<Name> }

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
  /** A complete Arrow IPC stream. */
  readonly upload: OperationUpload<Name>
  readonly schemaDialect: SchemaDialect
}

/** The parsed request of an operation. */
export type OperationRequest<Name extends OperationName> =
  Name extends OperationsMatching<{ alsoArrowSchema: true }> ? Partial<RequestOf<Name>> : RequestOf<Name>

type OperationResult<Name extends OperationName> =
  Name extends OperationsMatching<{ response: 'empty' }>
    ? void
    : Name extends OperationsMatching<{ response: 'arrow' | 'arrow-stream' }>
      ? AsyncIterable<Uint8Array>
      : ResponseOf<Name>

type OperationUpload<Name extends OperationName> =
  Name extends OperationsMatching<{ body: 'arrow' }>
    ? Uint8Array
    : Name extends OperationsMatching<{ alsoArrowSchema: true }>
      ? Uint8Array | undefined
      : undefined

type OperationsMatching<Facts> = {
  [Name in OperationName]: (typeof operations)[Name] extends Facts ? Name : never
}[OperationName]
