/** A list of whole numbers of 32 bits that grows; it takes no memory that has to be gone through and cleared away. */
export class NumberList {
  private numbers: Int32Array
  private count = 0

  /** `expected` is how many there may be; more are taken all the same. */
  constructor(expected: number) {
    this.numbers = new Int32Array(Math.max(1, expected))
  }

  get length(): number {
    return this.count
  }

  push(number: number): void {
    if (this.count === this.numbers.length) this.grow()
    this.numbers[this.count++] = number
  }

  /** Puts another number in the place of one that was pushed. */
  set(index: number, number: number): void {
    this.numbers[index] = number
  }

  /** Leaves only the first so many, which are no more than there are. */
  cutOff(length: number): void {
    this.count = length
  }

  /** What was written, without a place for more. */
  toArray(): Int32Array {
    return this.numbers.slice(0, this.count)
  }

  private grow(): void {
    const numbers = new Int32Array(2 * this.count)
    numbers.set(this.numbers)
    this.numbers = numbers
  }
}
