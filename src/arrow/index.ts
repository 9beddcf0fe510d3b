/**
 * Reads and edits the metadata of Arrow IPC within bounds, before a decoder sees it.
 */
export {
  type ArrowMessage,
  continuation,
  maxMetadataBytes,
  MessageFrames,
  prefixLength,
  readMessage,
} from './messages.ts'
export { openFooter, removeFooterMetadata, removeMessageMetadata } from './remove-metadata.ts'
export { type ArrowField, type ArrowSchema, type ArrowType, readSchema, readSchemaStream } from './schema.ts'
