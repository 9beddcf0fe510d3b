import { createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { directOpener } from '../../support/direct-opener.ts'
import { listenLocally } from '../../support/local-server.ts'
import { createHttp1Client, type Http1Client } from '../../../src/http1/client/http1-client.ts'
import { sendRequest, type BufferedResponse } from '../../../src/http1/client/send-request.ts'
import type { BodySink } from '../../../src/http1/codec/body-source.ts'
import type { ResponseHandler } from '../../../src/http1/client/request-controller.ts'
import type { OutgoingRequest } from '../../../src/http1/client/outgoing-request.ts'

/** A body of one chunk, which ends unless it is `endless`. */
export function createBody(length: number, endless = false) {
  const body = {
    isComplete: false,
    isStopped: false,
    start(sink: BodySink) {
      sink.onData(Buffer.alloc(length), undefined)
      body.isComplete = !endless
      if (!endless && !body.isStopped) sink.onEnd()
    },
    pause: () => undefined,
    resume: () => undefined,
    stop: () => void (body.isStopped = true),
  }
  return body
}

export type Script = (socket: Socket, text: string) => unknown

/** An upstream that writes scripted bytes, and a client of it. */
export interface Scripted {
  readonly client: Http1Client
  readonly sockets: Socket[]
  script: Script
  get(path?: string): Promise<BufferedResponse>
  send(request: Partial<OutgoingRequest>): Promise<BufferedResponse>
}

export async function scripted(script: Script, timeout: object = {}): Promise<Scripted> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('data', (bytes) => upstream.script(socket, bytes.toString('latin1')))
  })
  const url = new URL(`http://127.0.0.1:${await listenLocally(server)}`)
  const timeouts = {
    connectTimeoutMs: 20_000,
    headersTimeoutMs: 20_000,
    bodyTimeoutMs: 20_000,
    totalTimeoutMs: 20_000,
    ...timeout,
  }
  const client = createHttp1Client({ url, opener: directOpener, timeouts })
  onTestFinished(() => client.close())
  const send: Scripted['send'] = (request) =>
    sendRequest(
      client,
      { method: 'GET', path: '/', headers: [], body: null, ...request },
      64 * 1024 * 1024,
      AbortSignal.timeout(20_000),
    )
  const upstream: Scripted = { client, sockets, script, send, get: (path = '/') => send({ path }) }
  return upstream
}

/** Writes these bytes for each request. */
export function writesBytes(bytes: string): Script {
  return (socket) => socket.write(bytes, 'latin1')
}

/** Sends a GET whose response is handled by these callbacks alone. */
export function dispatch(
  { client }: Pick<Scripted, 'client'>,
  handler: Partial<ResponseHandler>,
  path = '/',
  isFresh = false,
) {
  const ignored: ResponseHandler = {
    onRequestStart: () => undefined,
    onResponseStart: () => undefined,
    onResponseData: () => undefined,
    onResponseEnd: () => undefined,
    onResponseError: () => undefined,
  }
  return client.dispatch(
    { method: 'GET', path, headers: [], body: null },
    { ...ignored, ...handler },
    isFresh,
  )
}
