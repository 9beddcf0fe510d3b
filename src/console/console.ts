import { readdir, readFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { extname } from 'node:path'
import type { FastifyError, FastifyInstance } from 'fastify'
import { CatalogError, parseIdentifierText } from '../catalog-api/index.ts'
import { readComparison } from '../audit/index.ts'
import { isCrossSite, isLink, readSendingPage } from '../lib/index.ts'
import { createAccessReport } from './access-report.ts'
import { type ConsoleSource, readConsoleState } from './console-state.ts'
import { maxTextBytes, parseTrial } from './playground-report.ts'
import { createThreadRunner } from './run-in-thread.ts'
import { createNewestEntriesReader, parseSearch } from './select-entries.ts'

interface QueryRoute {
  readonly Querystring: Readonly<Record<string, unknown>>
}

/**
 * Read-only, without credentials: anyone who can reach the admin port sees principals, ids and policies.
 */
export async function addConsole(server: FastifyInstance, source: ConsoleSource): Promise<void> {
  const files = await readPageFiles()
  const { auditFolder, vocabulary } = source
  const readNewest = createNewestEntriesReader(auditFolder, () => source.audit.durableEnd().file)
  const search = createThreadRunner()
  const tryText = createThreadRunner()
  await server.register((scope, _options, done) => {
    scope.addHook('onRequest', (request, reply, next) => {
      void reply.headers(consoleHeaders)
      const refusal = findBrowserRefusal(request.headers, request.routeOptions.url === pageRoute)
      if (refusal === undefined) next()
      else void reply.code(403).send({ error: refusal })
    })
    scope.setErrorHandler((error: FastifyError | CatalogError, _request, reply) => {
      if (error instanceof CatalogError) return reply.code(400).send({ error: error.message })
      // Other messages may contain paths.
      const { statusCode = 500 } = error
      const what = statusCode < 500 ? 'the body of the request' : 'its data'
      return reply.code(Math.min(statusCode, 500)).send({ error: `the console cannot read ${what}` })
    })
    for (const { route, contentType, content } of files) {
      scope.get(route, (_request, reply) => reply.type(contentType).send(content))
    }
    scope.get(`${pageRoute}/data`, async () => {
      const { entries, seal } = await readNewest()
      return { ...(await readConsoleState(source, seal, await readComparison(auditFolder))), entries }
    })
    scope.get<QueryRoute>(`${pageRoute}/search`, ({ query }) =>
      search({ auditFolder, selection: parseSearch(query) }),
    )
    scope.get<QueryRoute>(`${pageRoute}/access`, ({ query }) => {
      const { id, kind } = parseObject(query)
      return createAccessReport(source.policies(), kind, id)
    })
    scope.get(`${pageRoute}/policy-files`, () => ({
      files: [...new Set(source.policies().documents.map(({ file }) => file))],
    }))
    // Nothing that it does has an effect.
    scope.post(`${pageRoute}/playground`, { bodyLimit: 2 * maxTextBytes }, ({ body }) =>
      tryText({ trial: parseTrial(body), vocabulary }, source.policies().documents),
    )
    done()
  })
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

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const pageRoute = '/console'

/** Reads the page and the files that it refers to. */
async function readPageFiles() {
  const folder = new URL('page/', import.meta.url)
  const files = (await readdir(folder)).map(async (name) => {
    const contentType = contentTypes[extname(name)]
    if (contentType === undefined) return []
    const route = name === 'console.html' ? pageRoute : `${pageRoute}/${name}`
    return [{ route, contentType, content: await readFile(new URL(name, folder)) }]
  })
  return (await Promise.all(files)).flat()
}
