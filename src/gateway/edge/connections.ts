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
   * was told in an answer that the connection closes. Else `ended` is called when its answer is over.
   */
  begin(request: IncomingMessage, response: ServerResponse, ended: () => void): boolean
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

/** A request that has not been answered to the end. */
interface Answering {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** What is known of a connection that has sent a request. */
interface Connection {
  /** In the order of the requests. */
  readonly answers: Answering[]
  /** The last one that was sent. */
  lastRequest: IncomingMessage
}

/** Watches a server that does not listen yet; what is over a limit is closed at once, and told to `refused`. */
export function watchConnections(
  server: Server,
  limits: Pick<LimitSettings, 'connections' | 'connectionsPerClient'>,
  refused: (reason: ConnectionRefusal, client: string | undefined) => void,
): Connections {
  // With TLS these are the connections beneath it, also those that have not agreed on it yet.
  const sockets = new Set<Socket>()
  const known = new Map<Duplex, Connection>()
  const connectionsOf = new Map<string, number>()
  let underWay = 0
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
    const connection = known.get(socket)
    if (connection === undefined) return
    const isAnswering = connection.answers.length > 0
    if (isAnswering && socket.writableLength === 0) return
    if (isAnswering) refused('answer_not_read', socket.remoteAddress)
    socket.destroy()
  })

  return {
    begin(request, response, ended) {
      const { socket } = request
      if (socket.destroyed) return false
      const connection = known.get(socket) ?? follow(socket, request)
      connection.lastRequest = request
      const { answers } = connection
      if (endsWithLastAnswer(answers)) return false
      if (answers.length >= maximumRequestsAtOnce) {
        refused('too_many_requests_at_once', socket.remoteAddress)
        socket.destroy()
        return false
      }
      answers.push({ request, response })
      underWay += 1
      response.once('close', () => {
        answers.splice(
          answers.findIndex((each) => each.response === response),
          1,
        )
        underWay -= 1
        ended()
      })
      if (isClosing) closeBehindLast(answers)
      return true
    },
    closeBehindAnswers(socket) {
      const { answers, lastRequest } = known.get(socket) ?? { answers: [], lastRequest: undefined }
      if (answers.length === 0 && lastRequest?.complete === false) {
        closeBehind(socket)
        return true
      }
      // What is behind it can never come whole.
      const last = answers.findLast(({ request, response }) => request.complete || response.headersSent)
      last?.response.once('close', () => socket.destroy())
      return last !== undefined
    },
    closeWhenAnswered() {
      isClosing = true
      for (const { answers } of known.values()) closeBehindLast(answers)
    },
    open: () => sockets.size,
    isBusy: () => underWay > 0,
    destroyAll() {
      for (const socket of sockets) socket.destroy()
    },
  }

  function follow(socket: Socket, lastRequest: IncomingMessage): Connection {
    const connection: Connection = { answers: [], lastRequest }
    known.set(socket, connection)
    socket.once('close', () => {
      known.delete(socket)
      for (const { response } of connection.answers.slice()) endQueued(response)
    })
    return connection
  }
}

/** Node tells only the answer whose turn it is that its connection has closed; those behind it learn it here. */
function endQueued(response: ServerResponse): void {
  if (response.socket !== null) return
  response.destroy()
  response.emit('close')
}

/** Whether the client was told that no answer follows those that are under way. */
function endsWithLastAnswer(answers: readonly Answering[]): boolean {
  return answers.some(({ response }) => response.headersSent && !response.shouldKeepAlive)
}

function closeBehindLast(answers: readonly Answering[]): void {
  const unsent = answers.filter(({ response }) => !response.headersSent)
  for (const each of unsent) each.response.shouldKeepAlive = each !== unsent.at(-1)
}
