import { onTestFinished } from 'vitest'
import type { ClientAnswer } from '../../../src/gateway/edge/client-answer.ts'
import type { ClientRequest } from '../../../src/gateway/edge/client-request.ts'
import type { TimeoutSettings } from '../../../src/gateway/edge/edge-settings.ts'
import {
  createListener,
  type Listener,
  type ListenerOptions,
  type TurnedAwayReason,
} from '../../../src/gateway/edge/listener.ts'
import { Turns, type Line } from '../../../src/gateway/edge/turns.ts'

/** What a test wants of its listener. */
interface ListenerSetup {
  readonly maxHeaderBytes?: number
  readonly timeouts?: Partial<TimeoutSettings>
  readonly line?: Line
  readonly tls?: ListenerOptions['tls']
}

/** A listener, and whom it turned away. */
export interface RunningListener {
  readonly listener: Listener
  readonly url: string
  readonly turnedAway: TurnedAwayReason[]
}

/** So long that it never matters. */
const patient: TimeoutSettings = {
  headersTimeoutMs: 60_000,
  bodyTimeoutMs: 60_000,
  sendTimeoutMs: 60_000,
  keepAliveTimeoutMs: 60_000,
  maxConnectionAgeMs: 60_000,
  drainDelayMs: 0,
  drainTimeoutMs: 60_000,
  workerTimeoutMs: 60_000,
}

/** A listener whose requests go to `serve`. It ends with the test, and leaves no connection. */
export async function runListener(
  serve: (request: ClientRequest, answer: ClientAnswer) => void,
  { maxHeaderBytes = 8 * 1024, timeouts, line = new Turns(), tls }: ListenerSetup = {},
): Promise<RunningListener> {
  const turnedAway: TurnedAwayReason[] = []
  const listener = createListener(
    {
      limits: { maxHeaderBytes: maxHeaderBytes, maxConnections: 1_000, maxConnectionsPerAddress: undefined },
      timeouts: { ...patient, ...timeouts },
      line,
      tls,
    },
    { request: serve, turnedAway: (reason) => void turnedAway.push(reason) },
  )
  const port = await listener.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(async () => {
    listener.destroyAll()
    if (listener.isListening) await listener.stopAccepting()
  })
  return { listener, url: `http://127.0.0.1:${port}`, turnedAway }
}

/** Takes all of a body; rejects where it breaks off. */
export function bodyOf(request: ClientRequest): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    request.take({
      piece: (bytes) => void pieces.push(Buffer.from(bytes)),
      end: () => resolve(Buffer.concat(pieces)),
      broken: () => reject(new Error('the body broke off')),
    })
  })
}

/** Answers with that text, as one byte a character. */
export function answerText(answer: ClientAnswer, text: string): void {
  answer.writeHead(200, ['content-length', String(text.length)])
  answer.end(text)
}
