import type { Socket } from 'node:net'
import { answerUnparsed, closeBehind } from '../../interface/unparsed-requests.ts'
import { noteRead } from '../http/read-memory.ts'
import { ClientAnswer } from './client-answer.ts'
import { ClientRequest } from './client-request.ts'
import { NoRequest } from './no-request.ts'
import type { RequestHead } from './request-head.ts'
import { RequestReader } from './request-reader.ts'
import type { Line } from './turns.ts'

/** What a connection keeps to. */
export interface ConnectionBounds {
  readonly headerBytes: number
  /** Milliseconds from the start of a connection or of a request to the end of the head. */
  readonly headersMs: number
  /** Milliseconds between an answer and the next request. */
  readonly keepAliveMs: number
  /** Milliseconds without anything taken of what was sent. */
  readonly unreadMs: number
  /** Milliseconds after which the next response is the last of its connection. */
  readonly maxConnectionAgeMs: number
}

/** Who has connections, and is told what comes over them. */
export interface ConnectionOwner {
  readonly bounds: ConnectionBounds
  /** Where requests wait for their turn. */
  readonly line: Line
  /** Whether each answer from now on is the last of its connection. */
  readonly isClosing: boolean
  request(request: ClientRequest, answer: ClientAnswer): void
  /** What came is no request; the connection is closed behind what it is answered. */
  refused(fault: NoRequest, client: string): void
  /** The connection is closed, as the client takes nothing of an answer. */
  unread(client: string): void
  closed(connection: ClientConnection): void
}

/** The largest part of its age that a connection is closed before. */
const ageJitter = 0.1

/**
 * A connection of a client. It carries one request after the other: what is sent ahead waits unread until the request
 * before is answered and has come whole.
 */
export class ClientConnection {
  readonly client: string
  readonly keepAliveSeconds: number
  readonly #socket: Socket
  readonly #owner: ConnectionOwner
  readonly #reader: RequestReader
  #request: ClientRequest | undefined
  #answer: ClientAnswer | undefined
  /** Read, and not for anybody yet. */
  #held: Buffer | undefined
  /** When the last of it came. */
  #arrivedAt = performance.now()
  /** Whether it waits for the turn of its next request; and whether that may begin now. */
  #isInLine = false
  #hasTurn = false
  #isReading = false
  #isStopped = false
  #isEnding = false
  /** Whether no request may begin any more. */
  #isDistrusted = false
  /** A part of the age is left out at random: connections that began together do not end together. */
  readonly #agesAt: number
  /** When the wait began that the client is in: for a head, or for its end. */
  #waitingSince = this.#arrivedAt
  #hasServed = false

  constructor(socket: Socket, owner: ConnectionOwner) {
    this.#socket = socket
    this.#owner = owner
    this.client = socket.remoteAddress ?? ''
    this.keepAliveSeconds = Math.floor(owner.bounds.keepAliveMs / 1000)
    this.#agesAt = this.#arrivedAt + owner.bounds.maxConnectionAgeMs * (1 - ageJitter * Math.random())
    this.#reader = new RequestReader(
      { head: this.#begin, piece: (bytes) => this.#request?.arrived(bytes), end: this.#bodyEnded },
      owner.bounds.headerBytes,
    )
    socket.setTimeout(owner.bounds.unreadMs)
    socket
      .on('data', this.#take)
      .on('drain', () => this.#answer?.draining.tell())
      .on('timeout', this.#quiet)
      .on('end', this.#clientEnded)
      // What it was is told by the end that follows.
      .on('error', () => undefined)
      .on('close', this.#closed)
  }

  /** Whether a request is under way, or about to be. */
  get isBusy(): boolean {
    return this.#answer !== undefined || this.#isInLine
  }

  /** The answer under way is the last one. */
  closeWhenAnswered(): void {
    if (this.#answer !== undefined && !this.#answer.hasHead) this.#answer.keepsAlive = false
  }

  /** Lets no further request begin: closes it now, or behind the response under way. */
  distrust(): void {
    this.#isDistrusted = true
    this.closeWhenAnswered()
    if (this.#answer === undefined && !this.#isEnding) this.#socket.destroy()
  }

  /** Closes it at once; a response under way does not look whole. */
  destroy(): void {
    this.#answer?.destroy()
    this.#socket.destroy()
  }

  /** Closes it if no request is under way and it is not closing already. Returns whether it did. */
  closeIfIdle(): boolean {
    const isIdle = !this.isBusy && !this.#isEnding && !this.#socket.destroyed
    if (isIdle) this.#socket.destroy()
    return isIdle
  }

  /** Ends it where the client has been silent for too long. */
  checkPatience(now: number): void {
    if (this.#request !== undefined || this.#isInLine || this.#isEnding) return
    const { headersMs, keepAliveMs } = this.#owner.bounds
    const waitedMs = now - this.#waitingSince
    if (this.#reader.hasBegunHead) {
      if (waitedMs > headersMs) this.#refuse(new NoRequest('head_too_slow', 'the head did not come in time'))
    } else if (!this.#hasServed) {
      if (waitedMs > headersMs) this.#refuse(new NoRequest('idle', 'nothing came'))
    } else if (waitedMs > keepAliveMs) {
      this.#socket.destroy()
    }
  }

  /** For the answer: whether its connection is old enough to be closed behind it. */
  get isAged(): boolean {
    return performance.now() >= this.#agesAt
  }

  /** For the answer: it is over. */
  answered(): void {
    if (this.#answer === undefined) return
    const { keepsAlive } = this.#answer
    this.#answer = undefined
    if (this.#isEnding || this.#isDistrusted || !keepsAlive || this.#socket.destroyed) this.#end()
    else if (this.#request?.isComplete === true) this.#next()
  }

  readonly #take = (bytes: Buffer): void => {
    // Behind the end it is read only to be out of the way.
    if (this.#isEnding) return
    this.#arrivedAt = performance.now()
    noteRead(bytes)
    this.#held = this.#held === undefined ? bytes : Buffer.concat([this.#held, bytes])
    if (this.#request !== undefined) this.#readOn()
    else if (this.#isInLine) this.#stop(true)
    else this.#standInLine()
  }

  #standInLine(): void {
    if (this.#isInLine) return
    this.#isInLine = true
    this.#owner.line.take(this.#inTurn)
  }

  readonly #inTurn = (): void => {
    this.#isInLine = false
    this.#hasTurn = true
    this.#readOn()
  }

  /** Reads what is held, as far as it is for somebody; the client is not read on before that. */
  readonly #readOn = (): void => {
    if (this.#isReading) return
    this.#isReading = true
    try {
      while (this.#held !== undefined && this.#mayRead()) this.#readNext(this.#held)
    } catch (error) {
      if (!(error instanceof NoRequest)) throw error
      this.#refuse(error)
    } finally {
      this.#isReading = false
    }
    const isLeft = (): boolean => this.#held !== undefined && !this.#isEnding
    if (isLeft() && this.#request === undefined) this.#standInLine()
    this.#stop(isLeft())
  }

  #stop(isStopped: boolean): void {
    if (isStopped === this.#isStopped) return
    this.#isStopped = isStopped
    if (isStopped) this.#socket.pause()
    else this.#socket.resume()
  }

  #readNext(bytes: Buffer): void {
    if (this.#hasServed && this.#request === undefined && !this.#reader.hasBegunHead)
      this.#waitingSince = this.#arrivedAt
    const end = this.#reader.read(bytes, 0)
    this.#held = end === bytes.length || this.#isEnding ? undefined : bytes.subarray(end)
  }

  #mayRead(): boolean {
    if (this.#isEnding) return false
    if (this.#request === undefined) return this.#hasTurn
    return !this.#request.isComplete && this.#request.wantsBody
  }

  readonly #begin = (head: RequestHead): void => {
    const request = new ClientRequest(head, this.#socket, this.client, this.#arrivedAt, this.#readOn)
    const answer = new ClientAnswer(request, this)
    if (this.#owner.isClosing) answer.keepsAlive = false
    this.#hasTurn = false
    this.#request = request
    this.#answer = answer
    this.#owner.request(request, answer)
  }

  readonly #bodyEnded = (): void => {
    this.#request?.ended('complete')
    if (this.#answer === undefined) this.#next()
  }

  #next(): void {
    this.#request = undefined
    this.#hasServed = true
    // What was sent ahead comes to be a request only now.
    this.#arrivedAt = performance.now()
    this.#waitingSince = this.#arrivedAt
    this.#readOn()
  }

  /** What came is no request, or no body of one. */
  #refuse(fault: NoRequest): void {
    const answer = this.#answer
    this.#isEnding = true
    this.#held = undefined
    this.#owner.refused(fault, this.client)
    this.#request?.ended('broken')
    // A second answer would be taken for that to the next request.
    if (answer?.hasHead === true) return
    const isAnswered = answer === undefined && this.#request !== undefined
    this.#answer = undefined
    answer?.closed()
    const { refusal } = fault
    if (isAnswered) closeBehind(this.#socket)
    else if (refusal === undefined) this.#socket.destroy()
    else answerUnparsed(this.#socket, refusal)
  }

  /** Closes it behind its last answer. */
  #end(): void {
    this.#isEnding = true
    this.#held = undefined
    this.#request?.ended('broken')
    if (this.#isStopped) this.#socket.resume()
    closeBehind(this.#socket)
  }

  /** Whoever sends no more takes no more either. */
  readonly #clientEnded = (): void => {
    if (this.#isEnding) return
    if (this.#isInLine) {
      this.#owner.line.leave(this.#inTurn)
      this.#inTurn()
    }
    if (this.#reader.hasBegunHead || this.#request?.isComplete === false)
      this.#refuse(new NoRequest('cut_short', 'the request ended before it was complete'))
    else this.#socket.end()
  }

  readonly #quiet = (): void => {
    if (this.#answer === undefined || this.#socket.writableLength === 0) return
    this.#owner.unread(this.client)
    this.destroy()
  }

  readonly #closed = (): void => {
    this.#owner.line.leave(this.#inTurn)
    this.#isEnding = true
    this.#held = undefined
    this.#request?.ended('broken')
    this.#answer?.closed()
    this.#owner.closed(this)
  }
}
