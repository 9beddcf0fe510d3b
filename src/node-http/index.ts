/**
 * Requests of node:http in the shape of those of http1.
 */
export { limitSending, NodeRequests, readNodeHead, requestWithoutBody } from './node-requests.ts'
export { NodeResponse } from './node-response.ts'
