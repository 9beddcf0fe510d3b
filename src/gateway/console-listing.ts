import { defaultDelimiter } from '../catalog-api/identifiers.ts'
import { buildTarget } from '../catalog-api/request-target.ts'
import type { ConsoleSource } from '../console/console.ts'
import { IncomingRequest } from '../http1/server/incoming-request.ts'
import { createParsedRequestHead } from '../http1/server/request-head.ts'
import { unknownAddress } from '../lib/net/addresses.ts'
import { NodeResponse } from '../node-http/node-response.ts'
import type { RequestHandler } from './request-handler.ts'
import { ownOperations } from './upstream/own-client.ts'

const pageSize = '200'

/** The admin port may be behind a proxy, so that the address of its connections is not that of the viewer. */
const addresses = { peer: unknownAddress, client: unknownAddress }

/**
 * Creates the listing of the console: a ListNamespaces request with the credential of the viewer and nothing else, which
 * the pipeline handles as it would on the main port. The pipeline writes the response.
 */
export function createConsoleListing(
  { onRequest }: Pick<RequestHandler, 'onRequest'>,
  basePath: string,
): ConsoleSource['listCatalog'] {
  return ({ id, pageToken, credential }, { socket }, rawResponse) => {
    const parameters = new Map([['limit', pageSize]])
    if (pageToken !== undefined) parameters.set('page_token', pageToken)
    const route = {
      operation: ownOperations.listNamespaces,
      id,
      delimiter: defaultDelimiter,
      indexName: undefined,
      parameters,
    }
    const target = basePath + buildTarget(route)
    const head = createParsedRequestHead({ method: 'GET', target, version: '1.1' }, [
      'host',
      'localhost',
      ...credential,
    ])
    const request = new IncomingRequest(head, performance.now(), {
      socket,
      addresses,
      applyFlowControl: () => undefined,
      destroy: () => socket.destroy(),
      fail: () => socket.destroy(),
    })
    onRequest(request, new NodeResponse(request, rawResponse))
  }
}
