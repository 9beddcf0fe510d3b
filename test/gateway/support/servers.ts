import { Pool } from 'undici'
import type { ListenSettings } from '../../../src/config/listen-settings.ts'
import type { Field } from '../../support/hpack.ts'
import { createHttp2Client } from './http2-client.ts'
import { rawRequest, sendRaw } from './raw-request.ts'
import type { TestClient } from './test-client.ts'
import type { TestResponse } from './test-response.ts'
import { sendUnchecked } from './unchecked-http2.ts'

/** A request as written by an attacker, never normalized. Text is latin1. */
export interface WrittenRequest {
  readonly method: string
  readonly target: string
  /** Header lines. */
  readonly lines: readonly string[]
  readonly body: Buffer | undefined
}

/** A server of the gateway, and how tests send requests to it. */
export interface TestedServer {
  readonly listen: Partial<Pick<ListenSettings, 'parser' | 'h2c'>>
  readonly differences: readonly Difference[]
  connect(origin: string): TestClient
  /** Resolves with undefined if the request was refused without a response. */
  sendWritten(url: string, request: WrittenRequest): Promise<TestResponse | undefined>
}

/** Deliberate differences between the servers; none of them lets a request through that another server would deny. */
type Difference =
  /** llhttp trims a tab around a value, as RFC 9112, section 5, allows. Framing is never forwarded. */
  | 'tabs in framing'
  /** The stream or the connection ends instead of a response of the interface (RFC 9113, section 8.1.1). */
  | 'refuses by a reset'
  /** `:path` has no absolute form, as `:authority` is always there (RFC 9113, section 8.3.1). */
  | 'paths only'
  /** A body is in frames; `transfer-encoding` is refused (RFC 9113, section 8.2.2). */
  | 'frames in place of chunks'

const http1 = {
  connect: (origin: string): TestClient => new Pool(origin),
  async sendWritten(url: string, { method, target, lines, body }: WrittenRequest) {
    const head = rawRequest([
      `${method} ${target} HTTP/1.1`,
      'host: gateway.example',
      'connection: close',
      ...lines,
    ])
    const [response, ...others] = await sendRaw(
      url,
      Buffer.concat([Buffer.from(head, 'latin1'), body ?? Buffer.alloc(0)]),
    )
    if (others.length > 0) throw new Error('there is more than one response')
    return response
  },
}

/** The servers over which the same suites run; `SERVER` names the one of a run. */
export const servers = {
  'own HTTP/1.1': { ...http1, listen: {}, differences: [] },
  'HTTP/1.1 by node': { ...http1, listen: { parser: 'node' }, differences: ['tabs in framing'] },
  'HTTP/2': {
    listen: { h2c: true },
    differences: ['refuses by a reset', 'paths only', 'frames in place of chunks'],
    connect: createHttp2Client,
    sendWritten: (url, { method, target, lines, body }) =>
      sendUnchecked(
        url,
        [
          [':method', method],
          [':scheme', 'http'],
          [':authority', 'gateway.example'],
          [':path', target],
          ...lines.map(splitLine),
        ],
        body,
      ),
  },
} satisfies Record<string, TestedServer>

export const testedServer: TestedServer = findServer(process.env['SERVER'] ?? 'own HTTP/1.1')

export function hasDifference(difference: Difference): boolean {
  return testedServer.differences.includes(difference)
}

function findServer(name: string): TestedServer {
  const found = Object.entries<TestedServer>(servers).find(([known]) => known === name)
  if (found === undefined) throw new Error(`there is no server ${name}`)
  return found[1]
}

/** Names of HTTP/2 are in lower case. */
function splitLine(line: string): Field {
  const colon = line.indexOf(':', 1)
  if (colon === -1) return [line.toLowerCase(), '']
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).replace(/^ +| +$/g, '')]
}
