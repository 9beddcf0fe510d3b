import type { Dispatcher } from 'undici'
import {
  arrowFileType,
  arrowStreamType,
  type BuiltInOperation,
  CatalogError,
  type OperationName,
  parseErrorResponse,
  quoteForMessage,
} from 'catalog-gateway/catalog-api'
import { decodeContent, isObject, withoutByteOrderMark, readBounded } from 'catalog-gateway/lib'

/** The largest JSON response read into memory. */
const maxJsonBytes = 64 * 1024 * 1024
/** Longer error bodies are not shown. */
const maxErrorBytes = 64 * 1024

/** Operations whose JSON response is a number or a string, not an object. */
const primitiveResponses: Readonly<Partial<Record<OperationName, 'number' | 'string'>>> = {
  CountTableRows: 'number',
  ExplainTableQueryPlan: 'string',
  AnalyzeTableQueryPlan: 'string',
}

/**
 * Buffers JSON, streams an Arrow file. Throws the catalog's error with its code and message, and ServiceUnavailable
 * (502) for responses that the API does not define. `hasOwnCredential`: its rejection is not an error of the caller.
 * `sentHeaders`: the request headers, alternating names and values.
 */
export async function readResponse(
  operation: BuiltInOperation,
  response: Dispatcher.ResponseData,
  hasOwnCredential: boolean,
  sentHeaders: readonly string[],
): Promise<unknown> {
  const { statusCode, headers, body } = response
  if (statusCode >= 400) throw await readErrorResponse(response, hasOwnCredential, sentHeaders)
  if (statusCode >= 300) throw await discard(response, `a redirect (${statusCode}), which is not followed`)
  const coding = getContentCoding(headers)
  if (coding !== undefined)
    throw await discard(
      response,
      `a body with the content-encoding ${quoteForMessage(coding)}; expected none, as requested`,
    )
  if (operation.response === 'empty') {
    await body.dump()
    return undefined
  }
  const type = (firstHeaderValue(headers['content-type']) ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (operation.response !== 'json') {
    const expected = operation.response === 'arrow' ? arrowFileType : arrowStreamType
    if (type === expected || type === '' || type === 'application/octet-stream') return body
    throw await discard(response, 'a body that is not the expected Arrow data')
  }
  const bytes = await readBounded(body, maxJsonBytes)
  if (bytes === undefined) throw unexpectedResponseError(`more than ${maxJsonBytes} bytes`)
  return readJson(operation.name, String(withoutByteOrderMark(bytes)), type)
}

/** Converts a transport failure to 502, 503 or 504. */
export function toTransportError(error: unknown): CatalogError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const name = error instanceof Error ? error.name : ''
  if (code.endsWith('_TIMEOUT') || name === 'TimeoutError') {
    return unavailableError(504, 'timeout of the remote catalog', error)
  }
  if (code === 'UND_ERR_CLOSED' || code === 'UND_ERR_DESTROYED') {
    return unavailableError(503, 'the server is shutting down', error)
  }
  return unavailableError(502, 'the remote catalog is unreachable or closed the connection', error)
}

async function readErrorResponse(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  hasOwnCredential: boolean,
  sentHeaders: readonly string[],
): Promise<CatalogError> {
  const sent = await readBounded(body, maxErrorBytes)
  const coding = getContentCoding(headers)
  const bytes = sent && coding !== undefined ? (decodeContent(sent, coding, maxErrorBytes) ?? sent) : sent
  const { kind, hasCatalogCode, message, cause } = parseErrorResponse(statusCode, bytes, sentHeaders)
  if (statusCode === 407 || (statusCode === 401 && hasOwnCredential)) {
    return unavailableError(502, 'the remote catalog rejected the credential of this server', cause)
  }
  if (kind === 'Unsupported' && statusCode >= 500) {
    return new CatalogError(kind, 'the remote catalog does not have this operation', { cause })
  }
  // Without a catalog code the body is a proxy's page; an internal failure may contain a stack trace.
  const shown = hasCatalogCode && kind !== 'Internal' ? message : undefined
  const forwardedHeaders = ['retry-after', 'www-authenticate'].flatMap((name): [string, string][] => {
    const value = firstHeaderValue(headers[name])
    return value === undefined ? [] : [[name, value]]
  })
  return new CatalogError(kind, shown ?? `the remote catalog returned status ${statusCode}`, {
    status: statusCode,
    headers: Object.fromEntries(forwardedHeaders),
    cause,
  })
}

/** Some servers wrap the row count in an object, send a plan as plain text, or send an empty body for an object. */
function readJson(name: OperationName, text: string, type: string): unknown {
  const expected = primitiveResponses[name] ?? 'object'
  if (expected === 'string' && type === 'text/plain') return text
  if (expected === 'object' && text.trim() === '') return {}
  const value = parse(text)
  if (expected === 'object' ? isObject(value) : typeof value === expected) return value
  const count = expected === 'number' && isObject(value) ? value['count'] : undefined
  if (typeof count === 'number') return count
  throw unexpectedResponseError(`a body that is not valid JSON of ${name}`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function discard({ body }: Dispatcher.ResponseData, description: string): Promise<CatalogError> {
  await body.dump()
  return unexpectedResponseError(description)
}

function unexpectedResponseError(description: string): CatalogError {
  return unavailableError(502, `the remote catalog returned ${description}`)
}

function unavailableError(status: number, message: string, cause?: unknown): CatalogError {
  return new CatalogError('ServiceUnavailable', message, { status, cause })
}

function getContentCoding(headers: Dispatcher.ResponseData['headers']): string | undefined {
  const coding = firstHeaderValue(headers['content-encoding'])
  return coding?.toLowerCase() === 'identity' ? undefined : coding
}

function firstHeaderValue(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0]
}
