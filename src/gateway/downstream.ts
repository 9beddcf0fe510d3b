import type { ClientAnswer } from './edge/client-answer.ts'
import type { ClientBody } from './edge/client-body.ts'
import type { ClientRequest } from './edge/client-request.ts'

export type DownstreamRequest = ClientRequest
export type DownstreamResponse = ClientAnswer
export type DownstreamBody = ClientBody
