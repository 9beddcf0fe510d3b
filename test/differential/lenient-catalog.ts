import { isHealthCheck } from '../gateway/support/recording-upstream.ts'
import { tableFromArrays, tableToIPC } from 'apache-arrow'
import { createServer, type IncomingMessage } from 'node:http'
import { interpretBody, type Selection } from './lenient-body.ts'
import { interpretHead } from './lenient-router.ts'
import type { Interpretation } from './interpretation.ts'
import { listenLocally } from '../support/local-server.ts'
import { allowedNamespace, secrets } from './test-objects.ts'

/** A request with all its interpretations. */
export interface InterpretedRequest {
  readonly requestId: string
  readonly method: string
  readonly target: string
  /** Of the route, the id and the ids in the body. */
  readonly interpretations: readonly Interpretation[]
  /** Further operations that the body requests. */
  readonly nested: readonly Interpretation[]
  /** Undefined without a JSON body. */
  readonly selection: Selection | undefined
  /** Headers and members that state who the caller is, and headers that a gateway must not send. */
  readonly claims: readonly string[]
}

/** A catalog that accepts malformed requests. */
export interface LenientCatalog {
  readonly url: string
  readonly requests: readonly InterpretedRequest[]
}

/** Starts a catalog on a free port, until the end of the test. It responds with 200 and rows, or a listing, to each request. */
export async function startLenientCatalog(): Promise<LenientCatalog> {
  const requests: InterpretedRequest[] = []
  const server = createServer({ insecureHTTPParser: true }, (request, response) => {
    if (isHealthCheck(request)) {
      response.end()
      return
    }
    const respond = (body: Buffer | undefined): void => {
      const interpreted = interpretRequest(request, body)
      requests.push(interpreted)
      if (request.url?.includes('/query')) response.end(rowsResponse)
      else response.setHeader('content-type', 'application/json').end(listingOf(interpreted))
    }
    readBody(request).then(respond, () => respond(undefined))
  })
  return { url: `http://127.0.0.1:${await listenLocally(server)}`, requests }
}

const rowsResponse = tableToIPC(tableFromArrays({ id: [1] }), 'stream')

/** At the root, there are names that the attacker may not see. */
function listingOf({ interpretations: [first] }: InterpretedRequest): string {
  const isRoot = first?.id.length === 0 && first.operation.startsWith('List')
  const tables = first?.operation === 'ListAllTables' ? [`production$${secrets.table}`] : [secrets.table]
  return JSON.stringify({
    namespaces: isRoot ? [allowedNamespace, secrets.namespace] : [],
    tables: isRoot ? tables : [],
    views: isRoot ? tables : [],
    versions: [],
  })
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Ignores an incomplete body, which is undefined. */
function interpretRequest(request: IncomingMessage, body: Buffer | undefined): InterpretedRequest {
  const { method = '', url = '', rawHeaders } = request
  const header = createHeaderReader(rawHeaders)
  const [requestId = ''] = header('x-request-id')
  const isArrow = header('content-type').some((type) => type.includes('arrow'))
  const fromHead = interpretHead(method, url, header)
  const [first] = fromHead
  const fromBody =
    body === undefined || isArrow || first === undefined
      ? undefined
      : interpretBody(first.operation, first.id, body)
  return {
    requestId,
    method,
    target: url,
    interpretations: [
      ...fromHead,
      ...(fromBody?.ids ?? []).map((id) => ({ operation: first?.operation ?? '', id })),
    ],
    nested: fromBody?.nested ?? [],
    selection: fromBody?.selection,
    claims: [...findClaims(rawHeaders, header), ...(fromBody?.claims ?? [])],
  }
}

function createHeaderReader(raw: readonly string[]): (name: string) => readonly string[] {
  return (name) => raw.filter((_, index) => index % 2 === 1 && normalizeName(raw[index - 1]) === name)
}

/** Normalizes a name as the most lenient servers do. */
function normalizeName(name = ''): string {
  return name.trim().toLowerCase().replaceAll('_', '-')
}

const claimHeaders =
  /^(?:x-api-key|authorization|proxy-.*|cookie|forwarded|x-forwarded-.*|x-real-ip|via|x-catalog-assertion|x-(?:catalog|lance)-ctx-gateway.*)$/

function findClaims(raw: readonly string[], header: (name: string) => readonly string[]): string[] {
  const names = raw.filter((_, index) => index % 2 === 0).map(normalizeName)
  const framingHeaders = header('content-length').length + header('transfer-encoding').length
  return [
    ...names.filter((name) => claimHeaders.test(name)),
    ...(framingHeaders > 1 ? ['two framing headers'] : []),
    ...(header('x-request-id').length === 1 ? [] : ['no single request id']),
    ...(raw.some((text) => /[\0-\x08\x0a-\x1f\x7f]/.test(text)) ? ['a control character in a header'] : []),
  ]
}
