import type { Readable } from 'node:stream'
import type { ArrowMeter } from './arrow-meter.ts'

/** The body of an upstream request. */
export type Payload =
  | { readonly form: 'none' }
  | { readonly form: 'bytes'; readonly bytes: Buffer }
  /** If the stream fails, the attempt is aborted, so that the upstream never receives a whole request. */
  | {
      readonly form: 'stream'
      readonly body: Readable
      /** In bytes; undefined for a body sent in chunks. */
      readonly length: number | undefined
      /** Of an Arrow stream: what has passed. */
      readonly meter?: ArrowMeter
    }
