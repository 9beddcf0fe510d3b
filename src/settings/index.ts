/**
 * How settings are read: from YAML and the environment by a schema, with every mistake at once (`SettingsError`), and what
 * earlier builds had.
 */
export { describeIssue, getValue } from './describe-issue.ts'
export {
  isLoopback,
  isSameListenAddress,
  leadsToAddress,
  type ListenAddress,
  listenHost,
} from './listen-address.ts'
export { outboundSchema } from './outbound-settings.ts'
export { readSettings, redactedValue, SettingsError } from './read-settings.ts'
export { explainRemovedArgument, explainRemovedField } from './removed.ts'
export { listMembers, mapSettings, type SchemaNode, toSchemaNode } from './schema-node.ts'
export {
  addProblems,
  dashedName,
  findDuplicates,
  findErrorMessage,
  hasHttpsIfTlsFiles,
  httpUrl,
  isPlainUrl,
  isTrustworthyUrl,
  milliseconds,
  namesSetting,
  nonEmptyText,
  originUrl,
  path,
  portNumber,
  receiverUrl,
  type SettingProblem,
  tlsFiles,
  tlsRequiresHttps,
  toSignalUrl,
  trustworthyUrlSchema,
} from './setting-types.ts'
export { convertValues } from './setting-units.ts'
export { environmentPrefix, listSettingVariables } from './setting-variables.ts'
export { findTokenError, parseYamlTokens } from './yaml-tokens.ts'
