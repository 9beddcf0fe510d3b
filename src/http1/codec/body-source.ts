import type { WriteCallback } from './message-writer.ts'

/** Receives a body. Nothing is called after `onEnd` or `onError`. */
export interface BodySink {
  /** With a `release`, the chunk is valid until `release` is called, once, and nothing more is read until then. */
  onData(chunk: Buffer, release: WriteCallback | undefined): void
  onEnd(): void
  onError(error: Error): void
}

/** A body that is passed on as it arrives. */
export interface BodySource {
  /** Whether all of it has arrived. */
  readonly isComplete: boolean
  /** Begins to pass the body to the sink, maybe before this returns. To be called once. */
  start(sink: BodySink): void
  /** Chunks that have arrived already may still be passed on. */
  pause(): void
  resume(): void
  /** Nothing is passed on any more. */
  stop(): void
}
