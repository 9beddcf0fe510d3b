/** The client went away before its answer was complete. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}
