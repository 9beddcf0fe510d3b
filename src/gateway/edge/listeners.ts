/** Who is told when something happens, in the order in which they came: for every request, where an emitter is dear. */
export class Listeners {
  #all: readonly (() => void)[] = []

  add(listener: () => void): void {
    this.#all = [...this.#all, listener]
  }

  /** It is told no more, unless it is being told already. */
  delete(listener: () => void): void {
    this.#all = this.#all.filter((one) => one !== listener)
  }

  tell(): void {
    for (const listener of this.#all) listener()
  }
}
