/** What was opened, to be closed in reverse order. */
export class ClosingStack {
  readonly #closers: (() => unknown)[] = []
  #closing: Promise<void> | undefined

  /** Adds what closes a resource that was opened after all others in the stack. */
  push(close: () => unknown): void {
    this.#closers.push(close)
  }

  /** Closes everything once; every call resolves when that is done. */
  close(): Promise<void> {
    return (this.#closing ??= this.#closeAll())
  }

  async #closeAll(): Promise<void> {
    for (const close of this.#closers.toReversed()) await close()
  }
}
