import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { closeBehind } from '../../interface/unparsed-requests.ts'
import type { LimitSettings } from './edge-settings.ts'

/** Why a connection was closed without an answer. */
export type ConnectionRefusal =
  | 'too_many_connections'
  | 'too_many_connections_of_client'
  | 'too_many_requests_at_once'
  | 'answer_not_read'

/** The connections of a server, and the requests on them that have not been answered to the end. */
export interface Connections {
  /**
   * Takes a new request. False where it must be left alone: its connection holds too many already, or the client
   * was told in an answer that the connection closes.
   */
  begin(request: IncomingMessage, response: ServerResponse): boolean
  /**
   * For a connection on which nothing more can be read: true where answers are under way there to requests that
   * came whole, where an answer has begun, or where it is the body of an answered request that broke off: a second
   * answer would be taken for that to the next request. The connection is then closed behind the answers, and
   * nothing else may be sent.
   */
  closeBehindAnswers(socket: Duplex): boolean
  /** From now on each connection is closed behind the last answer that is under way on it. */
  closeWhenAnswered(): void
  /** How many connections there are. */
  open(): number
  /** Whether any request is under way. */
  isBusy(): boolean
  destroyAll(): void
}

/** Clients that send requests ahead of answers are rare, and send few. */
const maximumRequestsAtOnce = 64

type Answers = Map<ServerResponse, IncomingMessage>

/** Watches a server that does not listen yet; what is over a limit is closed at once, and told to `refused`. */
export function watchConnections(
  server: Server,
  limits: Pick<LimitSettings, 'connections' | 'connectionsPerClient'>,
  refused: (reason: ConnectionRefusal, client: string | undefined) => void,
): Connections {
  // With TLS these are the connections beneath it, also those that have not agreed on it yet.
  const sockets = new Set<Socket>()
  const answersOf = new WeakMap<Duplex, Answers>()
  const lastRequestOf = new WeakMap<Duplex, IncomingMessage>()
  const busy = new Set<Answers>()
  const connectionsOf = new Map<string, number>()
  let isClosing = false

  server.maxConnections = limits.connections
  server.on('drop', (data) => refused('too_many_connections', data?.remoteAddress))
  server.on('connection', (socket) => {
    const client = socket.remoteAddress ?? ''
    const others = connectionsOf.get(client) ?? 0
    if (limits.connectionsPerClient !== undefined && others >= limits.connectionsPerClient) {
      socket.destroy()
      refused('too_many_connections_of_client', client)
      return
    }
    sockets.add(socket)
    connectionsOf.set(client, others + 1)
    socket.once('close', () => {
      sockets.delete(socket)
      const left = (connectionsOf.get(client) ?? 1) - 1
      if (left > 0) connectionsOf.set(client, left)
      else connectionsOf.delete(client)
    })
  })
  // Where somebody listens, node leaves it to them what becomes of a connection on which nothing has moved.
  server.on('timeout', (socket) => {
    const answers = answersOf.get(socket)
    if (answers === undefined) return
    if (answers.size > 0 && socket.writableLength === 0) return
    if (answers.size > 0) refused('answer_not_read', socket.remoteAddress)
    socket.destroy()
  })

  return {
    begin(request, response) {
      const { socket } = request
      lastRequestOf.set(socket, request)
      let answers = answersOf.get(socket)
      if (answers === undefined) answersOf.set(socket, (answers = followConnection(socket)))
      if (socket.destroyed || endsWithLastAnswer(answers)) return false
      if (answers.size >= maximumRequestsAtOnce) {
        refused('too_many_requests_at_once', socket.remoteAddress)
        socket.destroy()
        return false
      }
      follow(answers, request, response)
      if (isClosing) closeBehindLast(answers)
      return true
    },
    closeBehindAnswers(socket) {
      const answers = [...(answersOf.get(socket) ?? [])]
      if (answers.length === 0 && lastRequestOf.get(socket)?.complete === false) {
        closeBehind(socket)
        return true
      }
      // What is behind it can never come whole.
      const last = answers.findLast(([response, request]) => request.complete || response.headersSent)
      last?.[0].once('close', () => socket.destroy())
      return last !== undefined
    },
    closeWhenAnswered() {
      isClosing = true
      for (const answers of busy) closeBehindLast(answers)
    },
    open: () => sockets.size,
    isBusy: () => busy.size > 0,
    destroyAll() {
      for (const socket of sockets) socket.destroy()
    },
  }

  function followConnection(socket: Socket): Answers {
    const answers: Answers = new Map()
    socket.once('close', () => {
      for (const response of answers.keys()) endQueued(response)
    })
    return answers
  }

  function follow(answers: Answers, request: IncomingMessage, response: ServerResponse): void {
    answers.set(response, request)
    busy.add(answers)
    response.once('close', () => {
      answers.delete(response)
      if (answers.size === 0) busy.delete(answers)
    })
  }
}

/** Node tells only the answer whose turn it is that its connection has closed; those behind it learn it here. */
function endQueued(response: ServerResponse): void {
  if (response.socket !== null) return
  response.destroy()
  response.emit('close')
}

/** Whether the client was told that no answer follows those that are under way. */
function endsWithLastAnswer(answers: Answers): boolean {
  return [...answers.keys()].some((response) => response.headersSent && !response.shouldKeepAlive)
}

function closeBehindLast(answers: Answers): void {
  const responses = [...answers.keys()].filter((response) => !response.headersSent)
  for (const response of responses) response.shouldKeepAlive = response !== responses.at(-1)
}
