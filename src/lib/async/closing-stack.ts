/** Closes resources in reverse order of opening. */
export class ClosingStack {
  readonly #closers: (() => unknown)[] = []
  #closing: Promise<void> | undefined

  push(close: () => unknown): void {
    this.#closers.push(close)
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#closeAll())
  }

  async #closeAll(): Promise<void> {
    for (const close of this.#closers.toReversed()) await close()
  }
}
