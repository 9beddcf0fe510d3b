/** The client closed its connection, or sent or read nothing for too long, before its response was complete. */
export class ClientDisconnected extends Error {
  override readonly name = 'ClientDisconnected'
}
