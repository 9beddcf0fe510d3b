import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { docsPath, openApiPath } from '../catalog-api/openapi/openapi-document.ts'
import { createDocument, type ServedDocument } from './documents.ts'

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

/** Folders of the files to which the page refers: its own, Swagger UI's, and the console's, which has the same design. */
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
export async function createDocsPage(basePath: string): Promise<ReadonlyMap<string, ServedDocument>> {
  const html = createDocument('docs', createHtml(basePath), 'text/html; charset=utf-8', headers)
  const path = basePath + docsPath
  const staticFiles = files.map(async ([contentType, file]) => {
    const document = createDocument('docs', await readFile(file), contentType, headers)
    return [`${path}/static/${basename(file.pathname)}`, document] as const
  })
  return new Map([[path, html], [`${path}/`, html], ...(await Promise.all(staticFiles))])
}

function createHtml(basePath: string): string {
  const document = `${basePath}${openApiPath}`
  const folder = `${basePath}${docsPath}/static`
  return `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>catalog-gateway API documentation</title>
    <link rel="icon" href="${folder}/icon.svg" type="image/svg+xml" />
    <link rel="service-desc" href="${document}" type="application/json" />
    <link rel="stylesheet" href="${folder}/design.css" />
    <link rel="stylesheet" href="${folder}/docs.css" />
    <script defer src="${folder}/swagger-ui-bundle.js"></script>
    <script type="module" src="${folder}/docs.js"></script>
  </head>
  <body>
    <header>
      <h1><img src="${folder}/icon.svg" alt="" width="28" height="28" /> catalog-gateway</h1>
      <h2>API documentation</h2>
      <a href="${document}">OpenAPI document</a>
    </header>
    <main id="swagger-ui">
      <noscript>This page needs JavaScript. The <a href="${document}">OpenAPI document</a> has all that it shows.</noscript>
    </main>
  </body>
</html>
`
}
