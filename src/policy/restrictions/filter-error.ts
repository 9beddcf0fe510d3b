/** A filter that the grammar does not have. The message continues `the filter ...:`, and is safe to show to its author. */
export class FilterError extends Error {
  override readonly name = 'FilterError'
  /** In the filter, from 0. */
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.offset = offset
  }
}
