import type { BodySource } from '../../http1/codec/body-source.ts'
import type { ArrowMeter } from './arrow-meter.ts'

/** The body of an upstream request. */
export type Payload =
  | { readonly form: 'none' }
  /** `meter` has measured an Arrow stream. */
  | { readonly form: 'bytes'; readonly bytes: Buffer; readonly meter?: ArrowMeter }
  /** If the body fails, the attempt is aborted, so the upstream never receives a complete request. */
  | {
      readonly form: 'stream'
      readonly body: BodySource
      /** In bytes; undefined for the chunked coding. */
      readonly length: number | undefined
      /** Measures an Arrow stream. */
      readonly meter?: ArrowMeter
    }
