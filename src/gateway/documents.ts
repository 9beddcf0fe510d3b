import { listHeader, memoize, scheduleAtTickEnd } from '../lib/index.ts'
import { jwksPath } from '../identity/index.ts'
import { docsPath, getOpenApiDocument, openApiPath, type Operation, refusal } from '../catalog-api/index.ts'
import type { Received } from './context.ts'
import type { DownstreamResponse } from './downstream.ts'
import type { LoadShedder } from '../limits/index.ts'
import { gatewayHeaders, type ResponseContext } from './error-response.ts'
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'

/** A public document that the gateway itself serves. */
export interface ServedDocument {
  /** Replaces the operation in metrics and the log. */
  readonly name: 'openapi' | 'jwks' | 'docs'
  readonly bytes: Buffer
  /** Strong (RFC 9110, section 8.8.3). */
  readonly entityTag: string
  /** `content-type`, and others of this document: names and values in turn. */
  readonly headers: readonly string[]
}

export type FindDocument = ReturnType<typeof createDocumentFinder>

/**
 * Creates the finder of the document of the gateway that a request is for, below `basePath`; undefined if its target is none.
 * It throws InvalidInput (400) for a request with a body, Unsupported (405) for a method other than GET and HEAD, and rejects
 * with Unsupported (404) for an unknown file of the page `/docs`. `jwks` is the JWKS of the gateway's assertions, if it signs
 * any; `extraOperations` appear in the OpenAPI document.
 */
export function createDocumentFinder(
  jwks: string | undefined,
  basePath: string,
  extraOperations: readonly Operation[],
) {
  const openApi = getOpenApiDocument(basePath, extraOperations)
  const documents = new Map([[basePath + openApiPath, createDocument('openapi', openApi)]])
  if (jwks !== undefined) documents.set(basePath + jwksPath, createDocument('jwks', jwks))
  // Created when it is first requested: few gateways need its files, and they take memory.
  const openPage = memoize(() => createDocsPage(basePath))
  const page = basePath + docsPath
  async function findPageFile(target: string): Promise<ServedDocument> {
    const file = (await openPage()).get(target)
    if (file !== undefined) return file
    throw refusal('unknown_route', `unknown route: ${docsPath} has no file of this name`)
  }
  return ({ head: { method, target, hasBody } }: Received) => {
    const document = documents.get(target)
    if (document === undefined && target !== page && !target.startsWith(`${page}/`)) return undefined
    if (method !== 'GET' && method !== 'HEAD') {
      throw refusal('method_not_allowed', `method ${method} is not allowed for ${target}; use GET`, {
        headers: { allow: 'GET, HEAD' },
      })
    }
    if (hasBody) throw refusal('unexpected_body', `unexpected body in a ${method} request for ${target}`)
    return document ?? findPageFile(target)
  }
}

/** `headers` are those besides `content-type`. */
function createDocument(
  name: ServedDocument['name'],
  content: string | Buffer,
  contentType = 'application/json',
  headers: readonly string[] = [],
): ServedDocument {
  const bytes = Buffer.from(content)
  return {
    name,
    bytes,
    entityTag: `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`,
    headers: ['content-type', contentType, ...headers],
  }
}

/**
 * Sends a document: its headers alone for HEAD, and 304 (Not Modified) if the client has it. Throws Overloaded (503) if
 * the gateway sheds load.
 */
export function sendDocument(
  { bytes, entityTag, headers: own }: ServedDocument,
  { head }: Received,
  response: DownstreamResponse,
  shedding: LoadShedder,
  context: ResponseContext,
): void {
  shedding.admitDocument()
  const length = String(bytes.length)
  const isKnown = listHeader(head.headers, 'if-none-match').some((tags) => tags.includes(entityTag))
  const headers = [...own, 'content-length', length, 'etag', entityTag]
  // The client may keep it, and asks each time whether it is current.
  headers.push('cache-control', 'no-cache', ...gatewayHeaders(context))
  response.abandonBody(false)
  response.writeHead(isKnown ? 304 : 200, headers)
  scheduleAtTickEnd(response, () => response.end(bytes))
}

const css = 'text/css; charset=utf-8'
const javaScript = 'text/javascript; charset=utf-8'

/**
 * Headers of all files: only the gateway's own files are loaded or run, requests go to the gateway only, and no page can
 * frame this one or keep a reference to its window, as it may hold a credential.
 */
const headers: readonly string[] = Object.entries({
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'noopener-allow-popups',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}).flat()

/** Folder of the page; its files are also those of Swagger UI, and of the console, which has the same design. */
const own = new URL('page/', import.meta.url)
// The build copies them, so that a package for two files is not installed.
const swaggerUi = import.meta.url.endsWith('.ts')
  ? new URL('../../node_modules/@fastify/swagger-ui/static/', import.meta.url)
  : own
const ofConsole = new URL('../console/page/', import.meta.url)

const files = [
  [css, new URL('swagger-ui.css', swaggerUi)],
  [javaScript, new URL('swagger-ui-bundle.js', swaggerUi)],
  [css, new URL('docs.css', own)],
  [javaScript, new URL('docs.js', own)],
  [css, new URL('design.css', ofConsole)],
  ['image/svg+xml', new URL('icon.svg', ofConsole)],
] as const

/** Creates the page that shows the OpenAPI document with Swagger UI, as its files by their path, below `basePath`. */
async function createDocsPage(basePath: string): Promise<ReadonlyMap<string, ServedDocument>> {
  const path = basePath + docsPath
  const text = (await readFile(new URL('docs.html', own), 'utf8')).replaceAll('{basePath}', basePath)
  const html = createDocument('docs', text, 'text/html; charset=utf-8', headers)
  const page = new Map([path, `${path}/`].map((each) => [each, html]))
  for (const [contentType, file] of files) {
    const document = createDocument('docs', await readFile(file), contentType, headers)
    page.set(`${path}/static/${basename(file.pathname)}`, document)
  }
  return page
}
