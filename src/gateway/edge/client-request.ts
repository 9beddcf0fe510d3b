import type { Socket } from 'node:net'
import type { RequestHead } from './request-head.ts'

/** Who takes the body of a request as it arrives; nothing is called after `end` or `broken`. */
export interface BodyTaker {
  /** The bytes are its own from then on. */
  piece(bytes: Buffer): void
  end(): void
  /** The client went away, or sent what is no body. */
  broken(): void
}

/** A request of a client: its head, and its body for whoever takes it. Nothing of the body is read before. */
export class ClientRequest {
  readonly head: RequestHead
  readonly socket: Socket
  /** The address of the peer of the connection. */
  readonly client: string
  /** When its head came, in milliseconds of performance.now(). */
  readonly arrivedAt: number
  readonly #flowChanged: () => void
  #state: 'arriving' | 'complete' | 'broken'
  #taker: BodyTaker | undefined
  #isPaused = false

  /** `flowChanged` is called when the body may be wanted now where it was not before. */
  constructor(head: RequestHead, socket: Socket, client: string, arrivedAt: number, flowChanged: () => void) {
    this.head = head
    this.socket = socket
    this.client = client
    this.arrivedAt = arrivedAt
    this.#flowChanged = flowChanged
    this.#state = head.body === 0 || head.body === 'unclear' ? 'complete' : 'arriving'
  }

  /** Whether nothing more of it comes, all of it having been read. */
  get isComplete(): boolean {
    return this.#state === 'complete'
  }

  /** Whether nothing more of it comes, though it is not complete. */
  get isBroken(): boolean {
    return this.#state === 'broken'
  }

  /** Whether the next bytes of the body have somebody who takes them now. */
  get wantsBody(): boolean {
    return this.#taker !== undefined && !this.#isPaused
  }

  /**
   * The value of the header of that name (in lower case) where it was sent once; undefined where it was repeated, as
   * nobody can tell which one is meant.
   */
  soleHeader(name: string): string | undefined {
    const { headers } = this.head
    let sole: string | undefined
    for (let index = 0; index < headers.length; index += 2) {
      if (headers[index] !== name) continue
      if (sole !== undefined) return undefined
      sole = headers[index + 1] ?? ''
    }
    return sole
  }

  /** All headers by name; the values of those that were repeated are joined by commas. */
  headersByName(): Record<string, string> {
    const { headers } = this.head
    const byName = new Map<string, string>()
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] ?? ''
      const before = byName.get(name)
      byName.set(
        name,
        before === undefined ? (headers[index + 1] ?? '') : `${before}, ${headers[index + 1] ?? ''}`,
      )
    }
    return Object.fromEntries(byName)
  }

  /** From now on that one takes the body, in the place of the one before. It is told of an end that has come already. */
  take(taker: BodyTaker): void {
    this.#taker = undefined
    this.#isPaused = false
    if (this.#state === 'complete') taker.end()
    else if (this.#state === 'broken') taker.broken()
    else {
      this.#taker = taker
      this.#flowChanged()
    }
  }

  /** Nobody takes the body any more, unless somebody takes it again. */
  leave(taker: BodyTaker): void {
    if (this.#taker === taker) this.#taker = undefined
  }

  /** No piece comes until it is resumed. */
  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#flowChanged()
  }

  /** For the connection: a piece of the body. */
  arrived(bytes: Buffer): void {
    this.#taker?.piece(bytes)
  }

  /** For the connection: the body has ended, as it should or not. */
  ended(how: 'complete' | 'broken'): void {
    if (this.#state !== 'arriving') return
    this.#state = how
    const taker = this.#taker
    this.#taker = undefined
    if (how === 'complete') taker?.end()
    else taker?.broken()
  }
}
