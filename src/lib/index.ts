/**
 * Small and general: nothing here knows the product. A file a theme.
 */
export { Backoff } from './async/backoff.ts'
export { ClosingStack } from './async/closing-stack.ts'
export { CallbackList, ownedBy, scheduleAtTickEnd, type TaskOwner } from './async/owned-tasks.ts'
export { mapInSlices, runAtOnce, type RunInSlices, runInSlices, type Steps } from './async/run-in-slices.ts'
export { TimeoutExceeded, withTimeout } from './async/with-timeout.ts'
export { parseDuration } from './duration.ts'
export { toError } from './errors/to-error.ts'
export { formatBytes } from './format-bytes.ts'
export { formatCount } from './format-count.ts'
export { type FileLock, lockFile, withFileLock } from './fs/file-lock.ts'
export {
  createFileFollower,
  createReloadLog,
  type FileFollower,
  fileStamp,
  fixed,
  type Followed,
  type FollowedFiles,
  followFiles,
  type FollowSetting,
  readOnce,
  reloadFiles,
  type ReportReload,
} from './fs/follow-files.ts'
export { isWithin } from './fs/is-within.ts'
export { makeFolder } from './fs/make-folder.ts'
export { type FileLine, type LineRange, readLines } from './fs/read-lines.ts'
export { readHeaderValue, readSecret } from './fs/read-secret.ts'
export { replaceFile } from './fs/replace-file.ts'
export { hasErrorCode, ignoreMissing } from './fs/system-error.ts'
export { writeAll } from './fs/write-all.ts'
export { syncFolder, writeAtomically } from './fs/write-atomically.ts'
export { getKeys } from './get-keys.ts'
export { groupBy } from './group-by.ts'
export { getBasePath } from './http/base-path.ts'
export { decodeContent } from './http/decode-content.ts'
export { describeRedirect } from './http/describe-redirect.ts'
export { createEntityTag, listsEntityTag } from './http/entity-tags.ts'
export { parseForwardedForNodes, parseForwardedNodes } from './http/forwarded-nodes.ts'
export {
  fieldNameGrammar,
  findHeader,
  hasHeader,
  listHeader,
  parseConnectionTokens,
  removeHeaders,
} from './http/header-list.ts'
export { formatAuthority, hostNamePattern, isHostAndPort, parseHostName } from './http/host-name.ts'
export { readBounded } from './http/read-bounded.ts'
export {
  isCrossSite,
  isLink,
  readSendingPage,
  type SendingPage,
  sendingPageHeaders,
} from './http/sending-page.ts'
export {
  createFormReader,
  createObjectForm,
  createOpenForm,
  isOpen,
  type JsonForm,
  type JsonKind,
  mergeForms,
  noValue,
  omitMembers,
} from './json/json-form.ts'
export {
  getMembers,
  isListOfStrings,
  isObject,
  parseJsonBytes,
  withoutByteOrderMark,
} from './json/json-values.ts'
export { withoutReserve } from './lru-bound.ts'
export { memoize } from './memoize.ts'
export {
  type ConnectionAddresses,
  createAddressMatcher,
  getAddressKey,
  isInAddressRange,
  readConnectionAddresses,
  toCanonicalAddress,
  unknownAddress,
  validateAddressRange,
} from './net/addresses.ts'
export { closeGracefully } from './net/close-gracefully.ts'
export { listenOn } from './net/listen-on.ts'
export { ignoreOtherSignals, stopSignals } from './process/signals.ts'
export { encodeBytesField, encodeNumberField, type ProtobufField, readFields } from './protobuf.ts'
export { quoteForShell } from './quote-for-shell.ts'
export { createJsonSealer } from './sealed-json.ts'
export { suggestSimilar } from './suggest-similar.ts'
export { currentTimestamp, parseTimestamp, validateTimestamp } from './time.ts'
export {
  hasClientCertificate,
  hasTlsFiles,
  isCompleteChain,
  listServerCertificateFiles,
  listTlsFiles,
  publicKeyId,
  readClientChain,
  readPemFile,
  readServerCertificates,
  readTlsFiles,
  type TlsFiles,
  type TlsMaterial,
} from './tls/certificates.ts'
