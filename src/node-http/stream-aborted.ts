/** The gateway, not the client, has reset a stream of HTTP/2. */
export class StreamAborted extends Error {}
