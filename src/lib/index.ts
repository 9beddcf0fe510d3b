/**
 * Small and general: nothing here knows the product. A file a theme.
 */
export { CallbackList, ownedBy, scheduleAtTickEnd, type TaskOwner } from './async/owned-tasks.ts'
export { mapInSlices, runAtOnce, type RunInSlices, runInSlices, type Steps } from './async/run-in-slices.ts'
export { Backoff, ClosingStack, TimeoutExceeded, withTimeout } from './async/waiting.ts'
export { getKeys, groupBy, memoize, memoizeByObject, withoutReserve } from './collections.ts'
export { hasErrorCode, ignoreMissing, toError } from './errors.ts'
export { alignColumns, formatBytes, formatCount, quoteForShell } from './format.ts'
export { type FileLock, lockFile, withFileLock } from './fs/file-lock.ts'
export {
  createFileFollower,
  type FileFollower,
  fileStamp,
  fixed,
  type Followed,
  type FollowedFiles,
  followFiles,
  type FollowSetting,
  readOnce,
  reloadFiles,
} from './fs/follow-files.ts'
export { openKey, readKey } from './fs/key-files.ts'
export {
  type FileLine,
  isWithin,
  type LineRange,
  readHeaderValue,
  readLines,
  readSecret,
} from './fs/read-files.ts'
export { makeFolder, replaceFile, syncFolder, writeAll, writeAtomically } from './fs/write-files.ts'
export { readBounded } from './http/bodies.ts'
export {
  fieldNameGrammar,
  findHeader,
  hasHeader,
  listHeader,
  parseConnectionTokens,
  removeHeaders,
} from './http/header-list.ts'
export {
  isCrossSite,
  isLink,
  readSendingPage,
  type SendingPage,
  sendingPageHeaders,
} from './http/sending-page.ts'
export {
  describeRedirect,
  formatAuthority,
  getBasePath,
  hostNamePattern,
  isHostAndPort,
  parseHostName,
} from './http/urls.ts'
export {
  createFormReader,
  createOpenForm,
  isOpen,
  type JsonForm,
  type JsonKind,
  mergeForms,
  noValue,
} from './json/json-form.ts'
export {
  getMembers,
  isListOfStrings,
  isObject,
  parseJsonBytes,
  withoutByteOrderMark,
} from './json/json-values.ts'
export {
  closeGracefully,
  createAddressMatcher,
  getAddressKey,
  isInAddressRange,
  readPeerAddress,
  toCanonicalAddress,
  unknownAddress,
  validateAddressRange,
} from './net/addresses.ts'
export { listenOn } from './net/listen-on.ts'
export { suggestSimilar } from './suggest-similar.ts'
export { currentTimestamp, parseDuration, parseTimestamp, validateTimestamp } from './time.ts'
export {
  hasClientCertificate,
  isCompleteChain,
  listServerCertificateFiles,
  listTlsFiles,
  readClientChain,
  readPemFile,
  readServerCertificates,
  readTlsFiles,
  type TlsFiles,
  type TlsMaterial,
} from './tls/certificates.ts'
