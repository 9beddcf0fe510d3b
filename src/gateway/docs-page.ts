import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import fastify, { type FastifyInstance } from 'fastify'
import { docsPath } from '../catalog-api/openapi/openapi-document.ts'

/** A file of the page. */
export interface DocsPageFile {
  readonly contentType: string
  readonly bytes: Buffer
}

/**
 * Headers of all files: only the gateway's own files are loaded or run, requests go to the gateway only, and no page can
 * frame this one or keep a reference to its window, as it may hold a credential. Pages of pass-through routes have the
 * same origin.
 */
export const docsPageHeaders: readonly string[] = Object.entries({
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

/**
 * Renders the page that shows an OpenAPI document, by @fastify/swagger-ui, in an application of Fastify that never
 * listens. Returns its files by their path below `basePath`, to which the page refers.
 */
export async function renderDocsPage(
  basePath: string,
  document: string,
): Promise<ReadonlyMap<string, DocsPageFile>> {
  const app = fastify({ exposeHeadRoutes: false })
  try {
    await app.register(swagger, { mode: 'static', specification: { document: JSON.parse(document) } })
    await app.register(swaggerUi, {
      routePrefix: docsPath,
      indexPrefix: basePath,
      theme: { title: 'Table catalog' },
      uiConfig: {
        // Without a field for the URL of another document.
        layout: 'BaseLayout',
        displayOperationId: true,
        filter: true,
        defaultModelsExpandDepth: 0,
        // A reload of the page removes the credential.
        persistAuthorization: false,
      },
    })
    const page = await renderFile(app, docsPath)
    const references = [...page.bytes.toString().matchAll(/(?:href|src)="([^"]+)"/g)]
    const paths = references.map(([, reference = '']) => reference.slice(basePath.length))
    const others = [`${docsPath}/`, `${docsPath}/json`, ...paths].map(
      async (path) => [path, await renderFile(app, path)] as const,
    )
    return new Map([[docsPath, page], ...(await Promise.all(others))])
  } finally {
    await app.close()
  }
}

async function renderFile(app: FastifyInstance, url: string): Promise<DocsPageFile> {
  const { statusCode, headers, rawPayload } = await app.inject({ url })
  if (statusCode !== 200) throw new Error(`the page of the OpenAPI document has no ${url}`)
  return { contentType: String(headers['content-type']), bytes: rawPayload }
}
