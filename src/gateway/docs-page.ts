import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { docsPath } from '../catalog-api/openapi/openapi-document.ts'

const scriptType = 'text/javascript; charset=utf-8'

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

/** Files of Swagger UI, which the page refers to. */
const staticFiles = [
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['index.css', 'text/css; charset=utf-8'],
  ['favicon-32x32.png', 'image/png'],
  ['favicon-16x16.png', 'image/png'],
  ['swagger-ui-bundle.js', scriptType],
] as const

/**
 * Creates the page that shows an OpenAPI document with Swagger UI. Returns its files by their path below `basePath`, to
 * which the page refers.
 */
export async function createDocsPage(
  basePath: string,
  document: string,
): Promise<ReadonlyMap<string, DocsPageFile>> {
  const require = createRequire(import.meta.url)
  const folder = dirname(require.resolve('@fastify/swagger-ui/package.json'))
  const page = createFile('text/html; charset=utf-8', createHtml(`${basePath}${docsPath}/static`))
  const files = staticFiles.map(async ([name, contentType]): Promise<[string, DocsPageFile]> => {
    const bytes = await readFile(join(folder, 'static', name))
    return [`${docsPath}/static/${name}`, { contentType, bytes }]
  })
  return new Map([
    [docsPath, page],
    [`${docsPath}/`, page],
    [`${docsPath}/json`, createFile('application/json; charset=utf-8', document)],
    [`${docsPath}/static/swagger-initializer.js`, createFile(scriptType, createScript(basePath))],
    ...(await Promise.all(files)),
  ])
}

function createFile(contentType: string, text: string): DocsPageFile {
  return { contentType, bytes: Buffer.from(text) }
}

function createHtml(folder: string): string {
  return `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>catalog-gateway: operations of the catalog</title>
    <link rel="stylesheet" href="${folder}/swagger-ui.css" />
    <link rel="stylesheet" href="${folder}/index.css" />
    <link rel="icon" type="image/png" href="${folder}/favicon-32x32.png" sizes="32x32" />
    <link rel="icon" type="image/png" href="${folder}/favicon-16x16.png" sizes="16x16" />
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="${folder}/swagger-ui-bundle.js"></script>
    <script src="${folder}/swagger-initializer.js"></script>
  </body>
</html>
`
}

/** Swagger UI has a dark design, and chooses it in a layout only that this page does not use. */
const followColorScheme = `const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
`

function createScript(basePath: string): string {
  const options = {
    url: `${basePath}${docsPath}/json`,
    dom_id: '#swagger-ui',
    // Without a field for the URL of another document.
    layout: 'BaseLayout',
    deepLinking: true,
    displayOperationId: true,
    filter: true,
    defaultModelsExpandDepth: 0,
    // Sends the document to no other server.
    validatorUrl: null,
    // A reload of the page removes the credential.
    persistAuthorization: false,
  }
  return `${followColorScheme}SwaggerUIBundle(${JSON.stringify(options)}).initOAuth({})\n`
}
