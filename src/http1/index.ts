/**
 * A server and a client of HTTP/1.1 on sockets (RFC 9112). The server refuses requests that two readers could
 * understand differently; README.md has its promises.
 */
export { createHttp1Client } from './client/http1-client.ts'
export type { OutgoingRequest } from './client/outgoing-request.ts'
export { RequestController, type ResponseHandler } from './client/request-controller.ts'
export type { ResponseHead } from './client/response-head.ts'
export { type BufferedResponse, sendRequest } from './client/send-request.ts'
export { badResponse, TransportError } from './client/transport-error.ts'
export type { BodySink, BodySource } from './codec/body-source.ts'
export { JoinedChunks } from './codec/joined-chunks.ts'
export type { WriteCallback } from './codec/message-writer.ts'
export { BaseResponse } from './server/base-response.ts'
export type { ConnectionFailure, ConnectionHandler } from './server/connection-state.ts'
export { IncomingRequest, type RequestConnection } from './server/incoming-request.ts'
export { RequestBody, type RequestBodyOptions } from './server/request-body.ts'
export {
  closeWithError,
  type ErrorResponse,
  malformed,
  RequestError,
  type RequestErrorReason,
} from './server/request-error.ts'
export { createParsedRequestHead, type RequestHead } from './server/request-head.ts'
export { RequestQueue } from './server/request-queue.ts'
export { ServerConnection } from './server/server-connection.ts'
