/** What the package of the bundled catalog uses: ids, operations, headers, errors and schemas of the catalog API. */
export { assertArrowContentType } from './headers.ts'
export { CatalogError, type CatalogErrorOptions, type ErrorName, invalidInput } from './catalog-error.ts'
export {
  acceptRequestId,
  arrowFileType,
  arrowStreamType,
  clientDialectHeader,
  headerDialects,
  isArrowStreamType,
  isLancedbClient,
  lancedbDatabaseHeader,
  lancedbServerHeader,
  lancedbServerVersion,
  requestIdHeader,
} from './headers.ts'
export {
  type Identifier,
  assertIdentifier,
  assertName,
  formatIdentifier,
  isSameIdentifier,
  quoteForMessage,
} from './identifiers.ts'
export {
  formatIdentifierForMessage,
  namespaceNotFound,
  tableNotFound,
  transactionNotFound,
} from './identifier-text.ts'
export { getOpenApiDocument, openApiPath } from './openapi/openapi-document.ts'
export { type BuiltInOperation, type Operation, type OperationName, operations } from './operations.ts'
export { isBranchName } from './reference-names.ts'
export { type RouteMatch, parseTarget } from './request-target.ts'
export { respondToUnparsed, toUnparsedRequestError } from './responses/unparsed-request.ts'
