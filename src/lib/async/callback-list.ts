/** Callbacks of one event. Cheaper than an EventEmitter, as every request has two. */
export class CallbackList {
  #callbacks: readonly (() => void)[] = []

  add(callback: () => void): void {
    this.#callbacks = [...this.#callbacks, callback]
  }

  /** A callback that is deleted while `call` runs may still be called by it. */
  delete(callback: () => void): void {
    this.#callbacks = this.#callbacks.filter((one) => one !== callback)
  }

  /** Calls all of them, in the order in which they were added. */
  call(): void {
    for (const callback of this.#callbacks) callback()
  }
}
