/**
 * Reads settings from YAML and the environment by a schema, with every error at once (`SettingsError`). Explains removed
 * ones.
 */
export { describeIssue, getValue } from './describe-issue.ts'
export { outboundSchema } from './outbound-settings.ts'
export { environmentPrefix, listSettingVariables, readSettings, SettingsError } from './read-settings.ts'
export { explainRemovedArgument, explainRemovedField } from './removed.ts'
export { listMembers, mapSettings, type SchemaNode, toSchemaNode } from './schema-node.ts'
export {
  dashedName,
  expectHttpsIfTlsFiles,
  findDuplicates,
  findErrorMessage,
  httpUrl,
  ifValid,
  isLoopback,
  isPlainUrl,
  isTrustworthyUrl,
  listenHost,
  milliseconds,
  nonEmptyText,
  originUrl,
  path,
  portNumber,
  receiverUrl,
  refuse,
  type SettingProblem,
  tlsFiles,
  trustworthyUrlSchema,
} from './setting-types.ts'
export { convertValues } from './setting-units.ts'
export { findTokenError, parseYamlTokens } from './yaml-tokens.ts'
