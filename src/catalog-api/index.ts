/**
 * The interface of the catalog as data: operations and what follows from them, ids, targets, headers, errors.
 */
export {
  createRequestForms,
  findParents,
  getRequestForm,
  getResponseForm,
  undefinedValue,
} from './body-forms.ts'
export {
  CatalogError,
  type CatalogErrorOptions,
  errorCodes,
  type ErrorName,
  invalidInput,
  refusal,
  type RefusalReason,
  refusals,
} from './catalog-error.ts'
export {
  extensionNameKey,
  isKnownMetadata,
  isMisspelledExtensionName,
  isReferenceMetadata,
  isReferenceType,
  isReservedMetadata,
  isValueType,
} from './column-metadata.ts'
export { isErrorResponse, parseErrorResponse, UpstreamError } from './error-response.ts'
export {
  createExtraOperations,
  describeNameProblem,
  describePathProblem,
  type ExtraOperationDeclaration,
  extraOperationNamePattern,
  isExtraOperation,
  unifies,
} from './extra-operation.ts'
export {
  canonicalizeBranch,
  canonicalizeWord,
  describeFactSource,
  type FactName,
  type FactOfType,
  type FactSource,
  type FactType,
  factTypes,
  hasFactType,
  omitUndefinedFacts,
  type StatedFacts,
} from './facts.ts'
export {
  acceptRequestId,
  apiKeyHeader,
  arrowFileType,
  arrowStreamType,
  assertArrowContentType,
  assertionHeader,
  clientDialectHeader,
  factHeaders,
  getHeaderDialect,
  type HeaderDialect,
  headerDialectNames,
  headerDialects,
  incompleteHeader,
  isArrowStreamType,
  isLancedbClient,
  lancedbCredentialType,
  lancedbCredentialTypeHeader,
  lancedbDatabaseHeader,
  lancedbPrefixHeader,
  lancedbServerHeader,
  lancedbServerVersion,
  limitLancedbServerVersion,
  policyRevisionHeader,
  requestIdHeader,
  reservedContextPrefix,
  translateHeader,
} from './headers.ts'
export {
  describeJoinedName,
  formatIdentifierForMessage,
  formatIdentifierText,
  formatNameList,
  namespaceNotFound,
  parseIdentifierText,
  splitNames,
  tableNotFound,
  transactionNotFound,
} from './identifier-text.ts'
export {
  assertIdentifier,
  assertName,
  assertReference,
  assertSeparable,
  defaultDelimiter,
  formatIdentifier,
  type Identifier,
  isBranchName,
  isSameIdentifier,
  isSeparable,
  isWithin,
  listCommonSeparators,
  listSeparators,
  parseIdentifier,
  quoteForMessage,
  truncateForMessage,
} from './identifiers.ts'
export { docsPath, getOpenApiDocument, openApiPath } from './openapi/openapi-document.ts'
export {
  type AnyOperationName,
  apiPaths,
  type BatchEntries,
  type BodyReference,
  type BuiltInOperation,
  destinationPermission,
  type Effect,
  everyElement,
  findOperation,
  getOperation,
  isOperationName,
  listIdMembers,
  type Listing,
  type ObjectKind,
  type Operation,
  type OperationName,
  operationNames,
  operations,
  type ParameterType,
  type RequirementCondition,
  type RequirementTarget,
  uploadIdName,
} from './operations.ts'
export {
  changePermissions,
  createPermissionTable,
  extraPermissions,
  isDelegated,
  isEffectPermission,
  isExtraOperationName,
  listGroupParts,
  type Permission,
  permissionGroups,
  permissionNames,
  type PermissionTable,
} from './permissions.ts'
export { notInDatabaseError, placeInDatabase } from './place-in-database.ts'
export { decodeComponent, type QueryParameters, validateParameter } from './query-parameters.ts'
export {
  buildTarget,
  parseTarget,
  parseTargetIn,
  type RouteMatch,
  splitTarget,
  unknownOperationError,
} from './request-target.ts'
export {
  getNameSpace,
  getNamespaceDepth,
  getRequirements,
  isInNamespace,
  mayRequireOtherObjects,
  type Requirement,
} from './requirements.ts'
export {
  assertFactSource,
  findFact,
  foldName,
  isDecisiveName,
  isDecisiveParameter,
  isReferenceSwitch,
  isReservedName,
} from './reserved-names.ts'
export { createRouteTable } from './route-table.ts'
export { respondToUnparsed, toUnparsedRequestError } from './unparsed-request.ts'
