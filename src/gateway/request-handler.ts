import { refusal } from '../catalog-api/index.ts'
import { type IncomingRequest, RequestBody, type RequestBodyOptions } from '../http1/index.ts'
import { toError } from '../lib/index.ts'
import type { ClientBounds } from './bounds.ts'
import { ClientDisconnected, type DownstreamResponse } from './downstream.ts'
import { sendErrorResponse, toCatalogError } from './error-response.ts'
import type { RequestObserver } from './observability/request-observer.ts'
import { handle, type Pipeline } from './pipeline.ts'
import { Trace } from './trace.ts'

/** Creates the handler that passes requests from any server to the pipeline. */
export function createRequestHandler(
  pipeline: Pipeline,
  observer: RequestObserver,
  bounds: Pick<ClientBounds, 'bodyTimeoutMs' | 'minBodyBytesPerSecond'>,
) {
  const bodyOptions: RequestBodyOptions = {
    timeoutMs: bounds.bodyTimeoutMs,
    minBytesPerSecond: bounds.minBodyBytesPerSecond,
    error: (reason) =>
      reason === 'timeout'
        ? refusal('body_timeout', 'the body of the request did not arrive in time')
        : new ClientDisconnected('the client aborted the request body'),
  }
  let inPipeline = 0

  /** `authenticator`: another one than that of the gateway. The trace is that of the request. */
  function onRequest(
    request: IncomingRequest,
    response: DownstreamResponse,
    authenticator = pipeline.authenticator,
  ): Trace {
    const own = authenticator === pipeline.authenticator ? pipeline : { ...pipeline, authenticator }
    const trace = new Trace(request)
    response.onClose.add(() => observer.requestEnded(trace, response))
    observer.requestStarted(trace, request)
    run(request, response, trace, own).catch((error: unknown) => response.fail(toError(error)))
    return trace
  }

  async function run(
    request: IncomingRequest,
    response: DownstreamResponse,
    trace: Trace,
    own: Pipeline,
  ): Promise<void> {
    const body = new RequestBody(request, response, bodyOptions)
    inPipeline += 1
    try {
      await handle(request, body, response, own, trace).finally(() => body.stop())
    } catch (cause) {
      if (cause instanceof ClientDisconnected) return
      const error = toCatalogError(cause)
      observer.requestRefused(trace, error)
      sendErrorResponse(response, error, trace)
    } finally {
      inPipeline -= 1
    }
  }

  return { onRequest, isProcessing: (): boolean => inPipeline > 0 }
}
