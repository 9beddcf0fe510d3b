/** Callbacks of one event. Cheaper than an EventEmitter; every request has two. */
export class CallbackList {
  #callbacks: readonly (() => void)[] = []

  add(callback: () => void): void {
    this.#callbacks = [...this.#callbacks, callback]
  }

  /** A callback that is deleted during `call` may still be called. */
  delete(callback: () => void): void {
    this.#callbacks = this.#callbacks.filter((one) => one !== callback)
  }

  /** Calls all callbacks in insertion order. */
  call(): void {
    for (const callback of this.#callbacks) callback()
  }
}
