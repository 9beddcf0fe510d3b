import { z } from 'zod'
import { apiPaths } from '../catalog-api/operations.ts'
import { getBasePath } from '../lib/http/base-path.ts'
import { basePathPattern } from './listen-settings.ts'
import { httpUrl, isPlainUrl, nonEmptyText, portNumber, type SettingProblem } from './setting-types.ts'

const names = z.array(nonEmptyText).min(1)

/** Stands for WebSocket connections among the methods of a route. */
export const webSocketMethod = 'WEBSOCKET'

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

const routeSchema = z.strictObject({
  prefix: z
    .string()
    .regex(
      basePathPattern,
      'expected a path of letters, digits, "-", ".", "_", "~" and "/", without a slash at its end: "/ui"',
    )
    .describe('Path at the port; replaced by the path of `upstream`.'),
  upstream: httpUrl
    .refine((text) => isPlainUrl(text), 'expected a URL without user, password, query and fragment')
    .refine(hasPlainPath, 'expected a path of letters, digits, "-", ".", "_", "~" and "/"')
    .describe(
      'URL that replaces the prefix. Its certificate is verified by `outbound.caFile` or the system.',
    ),
  allow: allowSchema.describe(
    'Who may use the route: `users`, `groups` or `any: true`, as in policies; or the word `anyone`: requests are not ' +
      'authenticated.',
  ),
  methods: z
    .array(z.enum(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', webSocketMethod]))
    .min(1)
    .default(['GET', 'HEAD'])
    .describe(
      'Allowed methods; WEBSOCKET for WebSocket connections. All but GET, HEAD and OPTIONS are audited, at most 20 per ' +
        'second of one caller.',
    ),
})

export const passThroughSchema = z.strictObject({
  port: portNumber.describe(
    'A port of its own, with the host of `listen.host` and the TLS of `listen.tls`. 0 picks a free one.',
  ),
  routes: z.array(routeSchema).min(1).describe('What the port serves; any other path is unknown.'),
})

export type PassThroughRouteSettings = z.output<typeof routeSchema>

interface RoutedSettings {
  readonly listen: { readonly clientAddressFrom?: string | undefined }
  readonly upstreams: readonly { readonly url: string }[]
  readonly passThrough?: z.output<typeof passThroughSchema> | undefined
}

/** Returns the routes that overlap a catalog at its host, or each other, and a port that could not know its clients. */
export function findPassThroughProblems({
  listen,
  upstreams,
  passThrough,
}: RoutedSettings): readonly SettingProblem[] {
  if (passThrough === undefined) return []
  const problems: SettingProblem[] = []
  const refuse = (path: readonly (string | number)[], message: string): void => {
    problems.push({ path: ['passThrough', ...path], message })
  }
  if (listen.clientAddressFrom === 'proxy-protocol')
    refuse(['port'], 'has no PROXY protocol; expected another listen.clientAddressFrom')
  // Invalid URLs are errors of their own settings.
  const catalogs = upstreams.flatMap(({ url }) => (URL.canParse(url) ? [new URL(url)] : []))
  for (const [index, { prefix, upstream }] of passThrough.routes.entries()) {
    const other = passThrough.routes.slice(0, index).find((route) => overlaps(route.prefix, prefix))
    if (other !== undefined)
      refuse(['routes', index, 'prefix'], `${prefix} overlaps ${other.prefix}, the prefix of another route`)
    const problem = findUpstreamProblem(upstream, catalogs)
    if (problem !== undefined)
      refuse(['routes', index, 'upstream'], `${upstream} ${problem}; expected another path`)
  }
  return problems
}

function findUpstreamProblem(upstream: string, catalogs: readonly URL[]): string | undefined {
  if (!URL.canParse(upstream)) return undefined
  const url = new URL(upstream)
  const basePath = getBasePath(url)
  const api = apiPaths.find((path) => `${basePath}/`.toLowerCase().startsWith(`${path}/`))
  if (api !== undefined) return `is below ${api}, a path of catalogs`
  const catalog = catalogs.find(({ host }) => host === url.host)
  const path = catalog && getCatalogPaths(catalog).find((one) => overlaps(one, basePath))
  return path && `overlaps ${path} of the catalog at this host`
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
