import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { arrowFileType, arrowStreamType, CatalogError, type Operation } from 'catalog-gateway/catalog-api'
import { isObject } from 'catalog-gateway/lib'
import { toStorageFullError } from '../storage/storage-errors.ts'
import { toPostgresCatalogError } from '../database/postgres-errors.ts'

/**
 * Sends JSON (plain text if the result is a text and the client asks for that), an empty body, or streamed Arrow data
 * with backpressure; the query ends if the client disconnects. If a query fails midway, `onFailure` is called and the
 * connection is reset, so that a partial response never looks complete.
 */
export function sendResponse(
  reply: FastifyReply,
  operation: Operation,
  result: unknown,
  onFailure: (error: Error) => void,
): FastifyReply {
  reply.code(operation.mayStartJob && hasJob(result) ? 202 : operation.status)
  if (operation.response === 'empty') return reply.send()
  if (typeof result === 'string' && prefersPlainText(reply.request.headers.accept)) {
    return reply.header('content-type', 'text/plain; charset=utf-8').send(result)
  }
  if (operation.response === 'json') {
    return reply.header('content-type', 'application/json').send(JSON.stringify(result))
  }
  if (!isAsyncIterable(result)) throw new TypeError(`${operation.name} returned no Arrow data`)
  const file = Readable.from(result, { objectMode: false })
  file.once('error', onFailure)
  if (reply.raw.destroyed) file.destroy()
  return reply
    .header('content-type', operation.response === 'arrow' ? arrowFileType : arrowStreamType)
    .send(file)
}

/** Whether a client accepts plain text and no JSON. Many clients list both, and expect JSON. */
function prefersPlainText(accept = ''): boolean {
  const types = accept.split(',').map((range) => range.replace(/;.*/s, '').trim().toLowerCase())
  return (
    types.includes('text/plain') && !types.some((type) => /^(?:application\/(?:json|\*)|\*\/\*)$/.test(type))
  )
}

/** Whether a job continues the work. */
function hasJob(result: unknown): boolean {
  return isObject(result) && typeof result['job_id'] === 'string'
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

export function sendError(reply: FastifyReply, error: CatalogError, requestId: string): FastifyReply {
  return reply
    .code(error.status)
    .headers(error.headers)
    .header('content-type', 'application/json')
    .send(JSON.stringify(error.toResponse(requestId)))
}

/** Any other error becomes Internal without details. */
export function toCatalogError(error: unknown): CatalogError {
  if (error instanceof CatalogError && error.kind !== 'Internal') return error
  const knownError = toPostgresCatalogError(error) ?? toStorageFullError(error)
  if (knownError !== undefined) return knownError
  if (error instanceof CatalogError) return error
  return new CatalogError('Internal', 'internal error; see the log of the catalog for this instance', {
    cause: error,
  })
}
