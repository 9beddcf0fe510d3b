import type { ServerResponse } from 'node:http'
import { errorCodes, type ErrorName } from '../../../src/catalog-api/catalog-error.ts'
import { parseTarget } from '../../../src/catalog-api/request-target.ts'
import type { RequestHandler } from './recording-upstream.ts'

/** The path that Gravitino serves the catalog API under. */
export const gravitinoPath = '/lance'

const defaultPageSize = 1_000

/**
 * Responds as the Lance REST server of Apache Gravitino does: under a path of its own, with offsets as page tokens, `null`
 * for the token of the last page, and errors with the stack trace of Java in `detail`. `tables` are the names in every
 * namespace; no table can be described.
 */
export function serveAsGravitino(tables: readonly string[]): RequestHandler {
  return (arrival, response) => {
    if (!arrival.target.startsWith(`${gravitinoPath}/v1/`)) {
      response.writeHead(404, { 'content-type': 'text/html' }).end('<h2>HTTP ERROR 404 Not Found</h2>')
      return
    }
    const { operation, id, parameters } = parseTarget(
      arrival.method,
      arrival.target.slice(gravitinoPath.length),
    )
    const instance = id.join('$')
    if (operation.lists === undefined) {
      const error = `Table not found: ${instance} in catalog-hive at thrift://metastore.internal:9083/warehouse`
      refuse(response, 'TableNotFound', error, 'NoSuchTableException', instance)
      return
    }
    const token = parameters.get('page_token')
    const start = Number(token ?? 0)
    const limit = Number(parameters.get('limit') ?? defaultPageSize)
    if (!Number.isInteger(start) || start < 0 || start > tables.length) {
      const error = `Page token out of range: ${String(token)}, total items: ${tables.length}`
      refuse(response, 'InvalidInput', error, 'IllegalArgumentException', instance)
      return
    }
    const end = start + limit
    const names = tables.toSorted().slice(start, end)
    const page_token = end < tables.length ? String(end) : null
    const page = operation.lists === 'namespaces' ? { namespaces: [] } : { tables: names, page_token }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page))
  }
}

function refuse(response: ServerResponse, kind: ErrorName, error: string, type: string, instance: string) {
  const { status, code } = errorCodes[kind]
  const detail =
    `org.apache.gravitino.exceptions.${type}: ${error}\n` +
    '\tat org.apache.gravitino.lance.service.rest.LanceTableOperations.describeTable(LanceTableOperations.java:101)\n' +
    '\tat java.base/java.lang.Thread.run(Thread.java:840)\n'
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error, code, type, detail, instance }))
}
