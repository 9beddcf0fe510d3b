import { z } from 'zod'
import { getBasePath } from '../lib/index.ts'
import { basePathPattern } from './listen-settings.ts'
import { httpUrl, isPlainUrl, nonEmptyText, portNumber } from '../settings/index.ts'

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

function hasPlainPath(text: string): boolean {
  if (!URL.canParse(text)) return false
  const path = getBasePath(new URL(text))
  return path === '' || basePathPattern.test(path)
}
