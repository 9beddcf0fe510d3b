import { toError } from '../../lib/index.ts'
import type { BodySink, BodySource } from '../../http1/index.ts'
import type { CheckDecision } from './checked-body.ts'

const nothing = Buffer.alloc(0)

/**
 * Passes a body on while the request is allowed: asks when chunks arrive, and passes the last byte only if it is still
 * allowed then. Chunks are not copied. `length` in bytes; undefined if it is unknown.
 */
export function createCheckedSource(
  body: BodySource,
  length: number | undefined,
  check: CheckDecision,
): BodySource {
  let sink: BodySink | undefined
  let received = 0
  /** The byte that may be the last one. */
  let held: Buffer = nothing
  let isChecking = false

  function passHeld(next: Buffer): void {
    const passed = held
    held = next
    if (passed.length > 0) sink?.onData(passed, undefined)
  }

  function fail(error: Error): void {
    const failed = sink
    sink = undefined
    failed?.onError(error)
  }

  function afterCheck(when: 'meanwhile' | 'end', then: () => void): void {
    const checked = check(when)
    if (checked === undefined) then()
    else
      checked.then(then, (error: unknown) => {
        body.stop()
        fail(toError(error))
      })
  }

  const checkingSink: BodySink = {
    onData(chunk, release) {
      received += chunk.length
      const mayBeLast = length === undefined || received >= length
      const passed = Math.max(0, mayBeLast ? chunk.length - 1 : chunk.length)
      passHeld(Buffer.from(chunk.subarray(passed)))
      if (sink === undefined) release?.()
      else sink.onData(chunk.subarray(0, passed), release)
      if (isChecking || sink === undefined) return
      isChecking = true
      afterCheck('meanwhile', () => (isChecking = false))
    },
    onEnd: () =>
      afterCheck('end', () => {
        passHeld(nothing)
        sink?.onEnd()
      }),
    onError: fail,
  }
  return {
    get isComplete() {
      return body.isComplete
    },
    start(to) {
      sink = to
      body.start(checkingSink)
    },
    pause: () => body.pause(),
    resume: () => body.resume(),
    stop() {
      sink = undefined
      body.stop()
    },
  }
}
