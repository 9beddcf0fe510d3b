import { readdir, readFile } from 'node:fs/promises'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { extname } from 'node:path'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { apiKeyHeader, CatalogError, type Identifier, parseIdentifierText } from '../catalog-api/index.ts'
import type { AuditLog } from '../audit/index.ts'
import { isCrossSite, isLink, readSendingPage } from '../lib/index.ts'
import { createAccessReport, listNamespaces } from './access-report.ts'
import { readConsoleState, type ConsoleStateSource, type RefusedRequest } from './console-state.ts'
import { createNewestChangesReader } from './newest-changes.ts'
import { addPlayground, type PlaygroundSource } from './playground/playground.ts'

export interface ConsoleSource extends ConsoleStateSource, PlaygroundSource {
  /** The newest first. */
  readonly refusals: readonly RefusedRequest[]
  readonly audit: Pick<AuditLog, 'status' | 'durableEnd'>
  /**
   * Writes what the catalog API responds to a request for the listing of namespaces. Throws CatalogError or RequestError
   * for a listing that cannot be requested.
   */
  listCatalog(listing: CatalogListing, request: IncomingMessage, response: ServerResponse): void
}

/** A page of the namespaces in a namespace, as its credential may see them. */
interface CatalogListing {
  readonly id: Identifier
  /** Of the page before. */
  readonly pageToken: string | undefined
  /** Header names and values in turn; empty for an anonymous viewer. */
  readonly credential: readonly string[]
}

/**
 * Read-only, without credentials: anyone who can reach the admin port sees principals, ids and policies. Only the catalog
 * asks for a credential, that of the main port.
 */
export async function addConsole(server: FastifyInstance, source: ConsoleSource): Promise<void> {
  const files = await readPageFiles()
  const readChanges = createNewestChangesReader(source.auditFolder, () => source.audit.durableEnd())
  await server.register((scope, _options, done) => {
    scope.addHook('onRequest', (request, reply, next) => {
      void reply.headers(consoleHeaders)
      const refusal = findBrowserRefusal(request.headers, request.routeOptions.url === pageRoute)
      if (refusal === undefined) next()
      else void reply.code(403).send({ error: refusal })
    })
    // Error messages may contain paths.
    scope.setErrorHandler(({ statusCode = 500 }: FastifyError, _request, reply) =>
      statusCode < 500
        ? reply.code(statusCode).send({ error: 'the console cannot read the body of the request' })
        : reply.code(500).send({ error: 'the console cannot read its data' }),
    )
    for (const { route, contentType, content } of files) {
      scope.get(route, (_request, reply) => reply.type(contentType).send(content))
    }
    scope.get(`${pageRoute}/data`, async () => ({
      state: await readConsoleState(source),
      refusals: source.refusals,
      ...(await readChanges()),
    }))
    scope.get(
      `${pageRoute}/namespaces`,
      createObjectHandler(({ id }) => listNamespaces(source.policies().documents, id)),
    )
    scope.get(
      `${pageRoute}/access`,
      createObjectHandler(({ id, kind }) => createAccessReport(source.policies(), kind, id)),
    )
    scope.get(
      `${pageRoute}/catalog`,
      createObjectHandler(({ id }, request, reply) => {
        const { page_token: token } = request.query
        const pageToken = typeof token === 'string' ? token : undefined
        for (const [name, value] of Object.entries(consoleHeaders)) reply.raw.setHeader(name, value)
        source.listCatalog({ id, pageToken, credential: readCredential(request) }, request.raw, reply.raw)
        return reply.hijack()
      }),
    )
    addPlayground(scope, pageRoute, () => source.policies().documents, source)
    done()
  })
}

interface ObjectQuery {
  readonly id: Identifier
  readonly kind: 'namespace' | 'table'
}

interface ObjectRoute {
  readonly Querystring: Readonly<Record<string, unknown>>
}

/** Responds with 400 if the id is invalid. */
function createObjectHandler(
  respond: (requested: ObjectQuery, request: FastifyRequest<ObjectRoute>, reply: FastifyReply) => object,
) {
  return (request: FastifyRequest<ObjectRoute>, reply: FastifyReply): unknown => {
    try {
      return respond(parseObjectQuery(request.query), request, reply)
    } catch (error) {
      if (error instanceof CatalogError) return reply.code(400).send({ error: error.message })
      throw error
    }
  }
}

/** Parses `?id=prod/sales&kind=namespace`. */
function parseObjectQuery({ id: text, kind }: ObjectRoute['Querystring']): ObjectQuery {
  const id = typeof text === 'string' && text !== '' ? parseIdentifierText(text) : []
  return { id, kind: kind === 'table' && id.length > 0 ? 'table' : 'namespace' }
}

/** The credentials of a request: header names and values in turn. */
function readCredential({ headers }: FastifyRequest<ObjectRoute>): readonly string[] {
  return [apiKeyHeader, 'authorization'].flatMap((name) => {
    const value = headers[name]
    return typeof value === 'string' ? [name, value] : []
  })
}

/** Only own files are loaded or run, no other page can frame the console, and nothing is cached. */
const consoleHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/**
 * Returns why a request is refused. The console needs no credentials, so only its own page may read its data; other sites
 * may link to the page. The admin port has checked the host.
 */
function findBrowserRefusal(headers: IncomingHttpHeaders, isPage: boolean): string | undefined {
  const page = readSendingPage((name) => headers[name]?.toString())
  if (page === undefined || !isCrossSite(page, headers.host, 'http')) return undefined
  return isPage && isLink(page, 'GET') ? undefined : 'cross-site requests to the console are refused'
}

interface PageFile {
  readonly route: string
  readonly contentType: string
  readonly content: Buffer
}

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const pageRoute = '/console'

/** Reads the page and the files that it refers to. */
async function readPageFiles(): Promise<readonly PageFile[]> {
  const folder = new URL('page/', import.meta.url)
  const files = (await readdir(folder)).map(async (name) => {
    const contentType = contentTypes[extname(name)]
    if (contentType === undefined) return []
    const route = name === 'console.html' ? pageRoute : `${pageRoute}/${name}`
    return [{ route, contentType, content: await readFile(new URL(name, folder)) }]
  })
  return (await Promise.all(files)).flat()
}
