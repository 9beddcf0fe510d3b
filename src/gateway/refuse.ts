import type { IncomingMessage, ServerResponse } from 'node:http'
import { InterfaceError } from '../interface/errors.ts'
import { headersFor, type AnsweredFor } from './answered-for.ts'
import { atEndOfTurn } from './end-of-turn.ts'
import { announcesBody, BodyTooSlow, expectsContinue } from './edge/client-body.ts'

/** How much of a body that nobody wants is read before the connection is cut, and for how long. */
const maximumDrainBytes = 16 * 1024 * 1024
const maximumDrainMs = 10_000
/** A client that was to be told to continue has mostly sent nothing, and will not. */
const maximumUnexpectedMs = 1_000

/** Any error as one that can be answered: what is not an InterfaceError is our fault, and says nothing else. */
export function answerable(error: unknown): InterfaceError {
  if (error instanceof InterfaceError) return error
  return new InterfaceError('Internal', 'the gateway failed; the request id leads to its log', {
    cause: error,
  })
}

/** An error as it is answered; the headers are names and values in turn. */
export function errorAnswer(error: InterfaceError, answered: AnsweredFor) {
  const body = JSON.stringify(error.toResponse(answered.requestId))
  const headers = [
    ...Object.entries(error.headers).flat(),
    'content-type',
    'application/json',
    'content-length',
    String(Buffer.byteLength(body)),
    ...headersFor(answered),
  ]
  return { headers, body }
}

/**
 * Answers a refused request in the shape of the interface. Where an answer has already begun, the connection is
 * cut instead, so that half an answer never looks whole.
 */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  error: InterfaceError,
  answered: AnsweredFor,
): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const { headers, body } = errorAnswer(error, answered)
  const isBodyUncertain = !request.complete && expectsContinue(request)
  if (isBodyUncertain || error instanceof BodyTooSlow) response.shouldKeepAlive = false
  response.writeHead(error.status, headers)
  if (isBodyUncertain) {
    // Whether a body follows only the client knows, so the connection ends here. It ends behind the body, where
    // there is one: to close a connection on which something lies unread would take the answer away.
    response.write(body)
    request.once('end', () => response.end())
  } else {
    atEndOfTurn(() => response.end(body))
  }
}

/**
 * Takes the rest of a body that nobody wants, within bounds: a client that is still sending reads its answer only
 * then, and the next request on its connection stands behind it.
 */
export function drain(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  const isUnexpected = expectsContinue(request)
  if (!isUnexpected && !announcesBody(request)) return
  let bytes = 0
  const milliseconds = isUnexpected ? maximumUnexpectedMs : maximumDrainMs
  const timer = setTimeout(() => request.socket.destroy(), milliseconds).unref()
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maximumDrainBytes) request.socket.destroy()
  })
  request.once('close', () => clearTimeout(timer))
  request.resume()
}
