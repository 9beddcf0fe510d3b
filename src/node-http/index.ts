/**
 * Requests of node:http in the shape of those of http1.
 */
export { limitSending, NodeRequests, readNodeHead } from './node-requests.ts'
export { ByteCount, NodeResponse } from './node-response.ts'
