import { getRequestForm } from '../../../src/catalog-api/body-forms.ts'
import {
  apiKeyHeader,
  lancedbCredentialTypeHeader,
  lancedbDatabaseHeader,
  lancedbPrefixHeader,
  limitLancedbServerVersion,
  requestIdHeader,
} from '../../../src/catalog-api/headers.ts'
import { getOperation, operationNames, type Operation } from '../../../src/catalog-api/operations.ts'
import { builtInRoutes, findRoute } from '../../../src/catalog-api/route-table.ts'
import {
  allowedRequestHeaders,
  allowedResponseHeaders,
} from '../../../src/config/upstream/allowed-headers-settings.ts'
import type { JsonForm } from '../../../src/lib/json/json-form.ts'
import type { SentBy } from './lancedb-sources.ts'
import type { refusedRequests, RequestPart } from './refused-requests.ts'

const headers: ReadonlySet<string> = new Set([
  ...allowedRequestHeaders,
  ...allowedResponseHeaders,
  apiKeyHeader,
  requestIdHeader,
  lancedbCredentialTypeHeader,
  lancedbDatabaseHeader,
  lancedbPrefixHeader,
])
const all = operationNames.map(getOperation)

/** Lists what is sent and neither served nor named as refused, and what is refused needlessly: one line for each. */
export function findUnserved(sent: readonly SentBy[], refused: typeof refusedRequests): readonly string[] {
  const used = new Set<string>()
  const lines = sent.flatMap(({ where, ...parts }) => {
    const operations = parts.routes.map(findOperation)
    // The members of a refused request are refused with it.
    const isRefused = operations.length > 0 && operations.every((operation) => operation === undefined)
    const scope = operations.filter((operation) => operation !== undefined)
    const possible = scope.length > 0 ? scope : all
    const served: Readonly<Record<RequestPart, (name: string) => boolean>> = {
      routes: (route) => findOperation(route) !== undefined,
      members: (name) => isRefused || possible.some((operation) => collectNames(operation).has(name)),
      parameters: (name) => isRefused || possible.some(({ query }) => query.has(name)),
      headers: (name) => headers.has(name),
      features: isAnnounced,
    }
    return kinds.flatMap((kind) =>
      [...new Set(parts[kind])].flatMap((name) => {
        used.add(`${kind} ${name}`)
        return served[kind](name) || name in refused[kind] ? [] : [`- ${kind}: ${name}, sent by ${where}`]
      }),
    )
  })
  const needless = kinds.flatMap((kind) =>
    Object.keys(refused[kind]).flatMap((name) => {
      if (isServed(kind, name)) return [`- ${kind}: ${name} is refused by name, but served`]
      return used.has(`${kind} ${name}`) ? [] : [`- ${kind}: ${name} is refused by name, but not sent`]
    }),
  )
  return [...lines, ...needless]
}

const kinds = [
  'routes',
  'members',
  'parameters',
  'headers',
  'features',
] as const satisfies readonly RequestPart[]

function isServed(kind: RequestPart, name: string): boolean {
  if (kind === 'routes') return findOperation(name) !== undefined
  if (kind === 'headers') return headers.has(name)
  if (kind === 'features') return isAnnounced(name)
  return all.some((operation) =>
    kind === 'members' ? collectNames(operation).has(name) : operation.query.has(name),
  )
}

function findOperation(route: string): Operation | undefined {
  return findRoute(builtInRoutes, route.replaceAll('{}', 'x'))?.operation
}

/** Whether the gateway announces the version of the server from which the client does it. */
function isAnnounced(feature: string): boolean {
  const version = feature.split(' ')[1] ?? ''
  return limitLancedbServerVersion(version) === version
}

/** The names of all members of the body, at any depth. */
function collectNames(operation: Operation): ReadonlySet<string> {
  const names = new Set<string>()
  const visited = new Set<JsonForm>()
  const visit = (form: JsonForm | undefined): void => {
    if (form === undefined || visited.has(form)) return
    visited.add(form)
    for (const [name, member] of form.members) {
      names.add(name)
      visit(member)
    }
    visit(form.items)
    visit(form.others)
  }
  visit(getRequestForm(operation))
  return names
}
