import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readingsOfBody } from './lenient-body.ts'
import { readingsOfHead } from './lenient-router.ts'
import type { Reading } from './readings.ts'

/** What reached the catalog, in every way in which it can be read. */
export interface Arrival {
  readonly requestId: string
  readonly method: string
  readonly target: string
  /** The readings of route and id. */
  readonly readings: readonly Reading[]
  /** The readings of what the body does besides. */
  readonly inner: readonly Reading[]
  /** Whatever could make an upstream think that it knows the caller, and headers that no gateway sends. */
  readonly claims: readonly string[]
}

/** A foreign catalog that takes what the strictest would refuse. */
export interface LenientCatalog {
  readonly url: string
  readonly arrivals: readonly Arrival[]
  close(): Promise<void>
}

/** Starts one on a free port; it answers every request with success. */
export async function startLenientCatalog(): Promise<LenientCatalog> {
  const arrivals: Arrival[] = []
  const server = createServer({ insecureHTTPParser: true }, (request, response) => {
    if (request.url === '/healthz') {
      response.end()
      return
    }
    const answer = (body: Buffer | undefined): void => {
      arrivals.push(arrivalOf(request, body))
      response.setHeader('content-type', 'application/json').end(emptyResponse)
    }
    wholeBody(request).then(answer, () => answer(undefined))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Of all that an answer may have to hold, nothing. */
const emptyResponse = JSON.stringify({ namespaces: [], tables: [], versions: [] })

async function wholeBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Half a body changes nothing, but its head has been read. */
function arrivalOf(request: IncomingMessage, body: Buffer | undefined): Arrival {
  const { method = '', url = '', rawHeaders } = request
  const header = headersOf(rawHeaders)
  const [requestId = ''] = header('x-request-id')
  const isArrow = header('content-type').some((type) => type.includes('arrow'))
  const ofHead = readingsOfHead(method, url, header)
  const [own] = ofHead
  const ofBody =
    body === undefined || isArrow || own === undefined
      ? undefined
      : readingsOfBody(own.operation, own.id, body)
  return {
    requestId,
    method,
    target: url,
    readings: [...ofHead, ...(ofBody?.ids ?? []).map((id) => ({ operation: own?.operation ?? '', id }))],
    inner: ofBody?.inner ?? [],
    claims: [...claimsIn(rawHeaders, header), ...(ofBody?.claims ?? [])],
  }
}

function headersOf(raw: readonly string[]): (name: string) => readonly string[] {
  return (name) => raw.filter((_, index) => index % 2 === 1 && nameOf(raw[index - 1]) === name)
}

/** Names as the most lenient server reads them. */
function nameOf(written = ''): string {
  return written.trim().toLowerCase().replaceAll('_', '-')
}

const claiming =
  /^(?:x-api-key|authorization|proxy-.*|cookie|forwarded|x-forwarded-.*|x-real-ip|via|x-catalog-assertion|x-(?:catalog|lance)-ctx-gateway.*)$/

function claimsIn(raw: readonly string[], header: (name: string) => readonly string[]): string[] {
  const names = raw.filter((_, index) => index % 2 === 0).map(nameOf)
  const ends = header('content-length').length + header('transfer-encoding').length
  return [
    ...names.filter((name) => claiming.test(name)),
    ...(ends > 1 ? ['two ends of the body'] : []),
    ...(header('x-request-id').length === 1 ? [] : ['no single request id']),
    ...(raw.some((text) => /[\0-\x08\x0a-\x1f\x7f]/.test(text)) ? ['a control character in a header'] : []),
  ]
}
