import { z } from 'zod'
import { docsPath, openApiPath } from '../catalog-api/openapi/openapi-document.ts'
import { apiPaths } from '../catalog-api/operations.ts'
import { getBasePath } from '../lib/http/base-path.ts'
import { hostNamePattern } from '../lib/http/host-name.ts'
import { hasTlsFiles, resolveTlsFiles, tlsFiles } from '../lib/tls/tls-files.ts'
import { basePathPattern } from './listen-settings.ts'
import { passThroughHeadersSettings } from './upstream/allowed-headers-settings.ts'
import { catalogAddressSettings } from './upstream/catalog-address-settings.ts'

const milliseconds = z.int().positive().max(2_147_483_647)
const names = z.array(z.string().min(1)).min(1)
const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

const allowSchema = z.union(
  [
    z.literal('anyone'),
    z
      .strictObject({
        users: names.optional().describe('Names of principals.'),
        groups: names.optional().describe('Groups of principals.'),
        any: z.literal(true).optional().describe('true: every authenticated caller.'),
      })
      .refine(
        ({ users, groups, any }) => (users ?? groups ?? any) !== undefined,
        'names no subject; expected users, groups or "any: true"',
      ),
  ],
  'expected users, groups or "any: true", or the word "anyone" for requests without authentication',
)

const timeoutsSchema = z.strictObject({
  responseHeadersTimeoutMs: milliseconds
    .default(60_000)
    .describe('From the end of the request to the response headers; for an upload, between two chunks sent.'),
})

const passThroughRouteSchema = z
  .strictObject({
    host: z
      .string()
      .regex(hostNamePattern, 'expected a host name in lower case, without a port: "console.example"')
      .optional()
      .describe(
        'Host of the route, any port: only requests for it match, and nothing else is served there, so that pages of the ' +
          'route do not have the origin of the catalog. By default every host that no other route has.',
      ),
    prefix: z
      .string()
      .regex(
        basePathPattern,
        'expected a path of letters, digits, "-", ".", "_", "~" and "/", without a slash at its end: "/ui"',
      )
      .describe('Path at the gateway; replaced by the path of `upstream`.'),
    upstream: catalogAddressSettings.url
      .refine(hasPlainPath, 'expected a path of letters, digits, "-", ".", "_", "~" and "/"')
      .describe('URL that replaces the prefix.'),
    allow: allowSchema.describe(
      'Who may use the route: `users`, `groups` or `any: true`, as in policies; or the word `anyone`: requests are not ' +
        'authenticated.',
    ),
    methods: z
      .array(z.enum(methods))
      .min(1)
      .default(['GET', 'HEAD'])
      .describe('Allowed methods. Requests with methods other than GET, HEAD and OPTIONS are audited.'),
    webSocket: z.boolean().default(false).describe('Whether WebSocket connections are allowed; audited.'),
    allowLinks: z
      .boolean()
      .default(false)
      .describe(
        'Whether links on other sites may open pages with a client certificate; all other requests of other sites with ' +
          'one are refused.',
      ),
    ...tlsFiles,
    serverName: z
      .string()
      .min(1)
      .optional()
      .describe('Expected name in the certificate, if it is not the host of the URL.'),
    ...passThroughHeadersSettings,
    maxConnections: z
      .int()
      .positive()
      .default(64)
      .describe(
        'Maximum connections, besides those of WebSocket. One caller (principal; for `anyone`, address) may use as many as ' +
          'stay free: half of them if it is alone.',
      ),
    maxChangesPerSecond: z
      .int()
      .positive()
      .default(20)
      .describe(
        'Audited requests of one caller per second, on average over ten seconds; for `anyone`, all callers together may ' +
          'make ten times as many. More are refused with 429.',
      ),
    timeouts: timeoutsSchema.prefault({}),
  })
  .refine(
    (route) => route.upstream.startsWith('https:') || (!hasTlsFiles(route) && route.serverName === undefined),
    'expected an https URL, because TLS files or serverName are set',
  )

export const passThroughSchema = z.array(passThroughRouteSchema)

export type PassThroughSettings = z.output<typeof passThroughRouteSchema>

interface RoutedSettings {
  readonly listen: { readonly basePath?: string | undefined }
  readonly upstreams: readonly { readonly url: string }[]
  readonly passThrough: readonly Pick<PassThroughSettings, 'host' | 'prefix' | 'upstream'>[]
}

interface PassThroughProblem {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** Returns the routes that overlap the catalog API, at the gateway or at a host of a catalog, or each other. */
export function findPassThroughProblems({
  listen,
  upstreams,
  passThrough,
}: RoutedSettings): readonly PassThroughProblem[] {
  const reserved = [listen.basePath ?? '', ...apiPaths, openApiPath, '/.well-known', docsPath].filter(Boolean)
  // Invalid URLs are errors of their own settings.
  const catalogs = upstreams.flatMap(({ url }) => (URL.canParse(url) ? [new URL(url)] : []))
  return passThrough.flatMap(({ host, prefix, upstream }, index) => {
    const problems: PassThroughProblem[] = []
    const refuse = (member: string, message: string): void => {
      problems.push({ path: ['passThrough', index, member], message })
    }
    const own = host === undefined ? reserved.find((path) => overlaps(path, prefix)) : undefined
    if (own !== undefined) refuse('prefix', `${prefix} overlaps ${own}, which belongs to the catalog`)
    const other = passThrough.slice(0, index).find((route) => overlaps(route.prefix, prefix))
    if (other !== undefined)
      refuse('prefix', `${prefix} overlaps ${other.prefix}, the prefix of another route`)
    if (!URL.canParse(upstream)) return problems
    const url = new URL(upstream)
    const api = apiPaths.find((path) => `${getBasePath(url)}/`.toLowerCase().startsWith(`${path}/`))
    if (api !== undefined) {
      refuse('upstream', `${upstream} is below ${api}, a path of catalogs; expected another path`)
      return problems
    }
    const catalog = catalogs.find(({ host }) => host === url.host)
    if (catalog === undefined) return problems
    const path = getCatalogPaths(catalog).find((one) => overlaps(one, getBasePath(url)))
    if (path !== undefined) {
      refuse('upstream', `${upstream} overlaps ${path} of the catalog at this host; expected another path`)
    }
    return problems
  })
}

/** Paths of a catalog at its host: everything below them belongs to the catalog. */
export function getCatalogPaths(url: URL): readonly string[] {
  const basePath = getBasePath(url)
  return basePath === '' ? apiPaths : [basePath]
}

/** Whether a request can be below both paths. Some servers ignore the case of letters. */
function overlaps(one: string, other: string): boolean {
  const [first, second] = [`${one}/`.toLowerCase(), `${other}/`.toLowerCase()]
  return first.startsWith(second) || second.startsWith(first)
}

function hasPlainPath(text: string): boolean {
  if (!URL.canParse(text)) return false
  const path = getBasePath(new URL(text))
  return path === '' || basePathPattern.test(path)
}

export function resolvePassThroughPaths(
  route: PassThroughSettings,
  absolute: (path: string) => string,
): PassThroughSettings {
  return { ...route, ...resolveTlsFiles(route, absolute) }
}
