import { readdir, readFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { extname } from 'node:path'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CatalogError, parseIdentifierText } from '../catalog-api/index.ts'
import { type AuditLog, readComparison } from '../audit/index.ts'
import { isCrossSite, isLink, readSendingPage } from '../lib/index.ts'
import { createAccessReport, listNamespaces } from './access-report.ts'
import { createNewestEntriesReader } from './audit/newest-entries.ts'
import { parseSearch } from './audit/search.ts'
import { readConsoleState, type ConsoleStateSource } from './console-state.ts'
import { addPlayground, type PlaygroundSource } from './playground/playground.ts'
import { createThreadRunner } from './thread/run-in-thread.ts'

export interface ConsoleSource extends ConsoleStateSource, PlaygroundSource {
  readonly auditFolder: string
  readonly audit: Pick<AuditLog, 'status' | 'durableEnd'>
}

/**
 * Read-only, without credentials: anyone who can reach the admin port sees principals, ids and policies.
 */
export async function addConsole(server: FastifyInstance, source: ConsoleSource): Promise<void> {
  const files = await readPageFiles()
  const { auditFolder } = source
  const readNewest = createNewestEntriesReader(auditFolder, () => source.audit.durableEnd())
  const search = createThreadRunner()
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
      comparison: await readComparison(auditFolder),
      ...(await readNewest()),
    }))
    scope.get(
      `${pageRoute}/search`,
      createHandler(async ({ query }, reply) => {
        const found = await search({ auditFolder, selection: parseSearch(query) })
        return reply.code('error' in found ? 400 : 200).send(found)
      }),
    )
    scope.get(`${pageRoute}/namespaces`, () => ({ namespaces: listNamespaces(source.policies().documents) }))
    scope.get(
      `${pageRoute}/access`,
      createHandler(({ query }) => {
        const { id, kind } = parseObject(query)
        return createAccessReport(source.policies(), kind, id)
      }),
    )
    addPlayground(scope, pageRoute, source)
    done()
  })
}

interface QueryRoute {
  readonly Querystring: Readonly<Record<string, unknown>>
}

/** Responds with 400 to what is invalid. */
function createHandler(
  respond: (request: FastifyRequest<QueryRoute>, reply: FastifyReply) => object | Promise<object>,
) {
  return async (request: FastifyRequest<QueryRoute>, reply: FastifyReply): Promise<unknown> => {
    try {
      return await respond(request, reply)
    } catch (error) {
      if (error instanceof CatalogError) return reply.code(400).send({ error: error.message })
      throw error
    }
  }
}

/** Parses `?id=prod/sales&kind=namespace`. */
function parseObject({ id: text, kind }: QueryRoute['Querystring']) {
  const id = typeof text === 'string' && text !== '' ? parseIdentifierText(text) : []
  return { id, kind: kind === 'table' && id.length > 0 ? 'table' : 'namespace' } as const
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
