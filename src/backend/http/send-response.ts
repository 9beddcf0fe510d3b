import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { CatalogError } from '../../catalog-api/catalog-error.ts'
import { arrowFileType } from '../../catalog-api/headers.ts'
import type { Operation } from '../../catalog-api/operations.ts'
import { toStorageFullError } from '../storage/full-storage.ts'
import { toPostgresCatalogError } from '../store/postgres-errors.ts'

/**
 * Answers a success in the form of the operation: JSON (of CountTableRows the integer alone), an empty body, or
 * an Arrow file in pieces, no faster than the client takes them; when the client leaves, the query ends. A query
 * that fails in the middle cuts the connection, so that half an answer never looks whole, and is told to `onFailure`.
 */
export function sendResponse(
  reply: FastifyReply,
  operation: Operation,
  result: unknown,
  onFailure: (error: Error) => void,
): FastifyReply {
  reply.code(operation.status)
  if (operation.response === 'empty') return reply.send()
  if (operation.response === 'json') {
    return reply.header('content-type', 'application/json').send(JSON.stringify(result))
  }
  // The handlers of operations that answer an Arrow file answer its chunks.
  const file = Readable.from(result as AsyncIterable<Uint8Array>, { objectMode: false })
  file.once('error', onFailure)
  if (reply.raw.destroyed) file.destroy()
  return reply.header('content-type', arrowFileType).send(file)
}

/** Answers an error in the shape of the interface. */
export function sendError(reply: FastifyReply, error: CatalogError, requestId: string): FastifyReply {
  return reply
    .code(error.status)
    .headers(error.headers)
    .header('content-type', 'application/json')
    .send(JSON.stringify(error.toResponse(requestId)))
}

/** Any error as one that can be answered: what is not an InterfaceError is our fault, and says nothing else. */
export function toCatalogError(error: unknown): CatalogError {
  if (error instanceof CatalogError && error.kind !== 'Internal') return error
  const refusal = toPostgresCatalogError(error) ?? toStorageFullError(error)
  if (refusal !== undefined) return refusal
  if (error instanceof CatalogError) return error
  return new CatalogError('Internal', 'internal error; see the log of the catalog for this instance', {
    cause: error,
  })
}
