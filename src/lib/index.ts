/** What the package of the bundled catalog uses. */
export { type ArrowMessage, continuation, prefixLength, readMessage } from './arrow/messages.ts'
export { readSchemaStream } from './arrow/schema.ts'
export { type ArrowField, type ArrowSchema, type ArrowType, readSchema } from './arrow/schema.ts'
export { Backoff } from './async/backoff.ts'
export { TimeoutExceeded, withTimeout } from './async/with-timeout.ts'
export { parseDuration } from './duration.ts'
export { toError } from './errors/to-error.ts'
export { formatBytes } from './format-bytes.ts'
export {
  type FollowSetting,
  createFileFollower,
  createReloadLog,
  readOnce,
  type Followed,
  fixed,
} from './fs/follow-files.ts'
export { makeFolder } from './fs/make-folder.ts'
export { readSecret } from './fs/read-secret.ts'
export { hasErrorCode } from './fs/system-error.ts'
export { getKeys } from './get-keys.ts'
export { createEntityTag, listsEntityTag } from './http/entity-tags.ts'
export { readBounded } from './http/read-bounded.ts'
export { isListOfStrings, getMembers, isObject } from './json/json-values.ts'
export { createHttpAgent } from './outbound/undici-connector.ts'
export { listDefaultAuthorities, type Outbound, openOutbound } from './outbound/outbound.ts'
export type { SocketOpener } from './outbound/socket-opener.ts'
export { createUndiciConnector } from './outbound/undici-connector.ts'
export { ignoreOtherSignals } from './process/signals.ts'
export { type ProtobufField, readFields, encodeBytesField, encodeNumberField } from './protobuf.ts'
