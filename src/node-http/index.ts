/**
 * Requests of node:http in the shape of those of http1.
 */
export { createRequestTaker, limitSending, readNodeHead, requestWithoutBody } from './node-requests.ts'
export { NodeResponse } from './node-response.ts'
