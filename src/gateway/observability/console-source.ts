import {
  buildTarget,
  type CatalogError,
  defaultDelimiter,
  formatIdentifierText,
} from '../../catalog-api/index.ts'
import type { ConsoleSource, RefusedRequest, UpstreamState } from '../../console/index.ts'
import type { Principal } from '../../identity/index.ts'
import { quoteForShell, unknownAddress } from '../../lib/index.ts'
import { describeRestriction, factsAvailableFor } from '../../policy/index.ts'
import { DeniedError } from '../authorization/decisions.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { RequestSink } from './request-observer.ts'
import { createParsedRequestHead } from '../../http1/index.ts'
import { NodeResponse, requestWithoutBody } from '../../node-http/index.ts'
import type { RequestHandler } from '../request-handler.ts'
import { ownOperations } from '../upstream/own-client.ts'

const maxRefusals = 50

/** Creates a recorder of the newest refused requests, the newest first. */
export function createConsoleRecorder(): {
  readonly recordEnd: RequestSink
  readonly refusals: readonly RefusedRequest[]
} {
  const refusals: RefusedRequest[] = []
  return {
    refusals,
    recordEnd(trace, _response, { operation, status, refusal }) {
      if (refusal === undefined) return
      const { route, principal, headPermit } = trace.progress
      refusals.unshift({
        time: new Date().toISOString(),
        stage: trace.stage,
        reason: refusal.reason,
        status,
        operation,
        id: route && formatIdentifierText(route.id),
        principal: principal?.name,
        client: trace.client,
        requestId: trace.requestId,
        denial: describeDenial(refusal, principal, trace.client),
        restrictedBy: headPermit?.restriction?.parts.map(describeRestriction),
      })
      if (refusals.length > maxRefusals) refusals.pop()
    },
  }
}

/** Undefined if the policies did not refuse the request. */
function describeDenial(
  refusal: CatalogError,
  principal: Principal | undefined,
  address: string,
): RefusedRequest['denial'] {
  if (!(refusal instanceof DeniedError) || principal === undefined) return undefined
  const { requiredPermission, decision } = refusal
  const id = formatIdentifierText(requiredPermission.id)
  const command = [
    'catalog-gateway policy explain --policies policies',
    ...formatCaller(principal),
    formatOption('fact', `address=${address}`),
    ...formatFacts(requiredPermission),
    '--',
    requiredPermission.permission,
    quoteForShell(id),
  ].join(' ')
  return { permission: requiredPermission.permission, id, rule: decision.rule, command }
}

function formatCaller({ name, method, groups, credentialId }: Principal): readonly string[] {
  if (method === 'anonymous') return ['--anonymous']
  return [
    formatOption('as', name),
    ...[...groups].map((group) => formatOption('group', group)),
    ...(method === 'api-key' ? [formatOption('key', credentialId)] : []),
  ]
}

/** Facts that can hold secrets are left out. */
function formatFacts({ permission, facts }: DeniedError['requiredPermission']): readonly string[] {
  const available = factsAvailableFor(permission)
  return (['mode', 'behavior', 'branch', 'tag'] as const).flatMap((name) => {
    const value = available.has(name) ? facts[name] : ''
    return typeof value === 'string' && value !== '' ? [formatOption('fact', `${name}=${value}`)] : []
  })
}

/** In one word, so that a value that begins with a dash is not read as an option. */
function formatOption(name: string, value: string): string {
  return `--${name}=${quoteForShell(value)}`
}

export function getUpstreamState(upstream: Upstream): UpstreamState {
  const { name, origin, namespaces, health, slots, client } = upstream
  const all = [slots.small, slots.listing, slots.bulk]
  const sum = (count: (of: (typeof all)[number]) => number): number =>
    all.reduce((total, of) => total + count(of), 0)
  return {
    name,
    origin,
    namespaces: namespaces?.map(formatIdentifierText),
    healthy: health.isHealthy,
    breaker: health.circuit,
    active: sum((of) => of.used),
    pending: sum((of) => of.pending),
    connections: client.connectionCount(),
    maxConnections: sum(({ capacity }) => capacity),
  }
}

const pageSize = '200'

/** The admin port may be behind a proxy, so that the address of its connections is not that of the viewer. */
const addresses = { peer: unknownAddress, client: unknownAddress }

/**
 * Creates the listing of the console: a ListNamespaces request with the credential of the viewer and nothing else, which
 * the pipeline handles as it would on the main port. The pipeline writes the response.
 */
export function createConsoleListing(
  { onRequest }: Pick<RequestHandler, 'onRequest'>,
  basePath: string,
): ConsoleSource['listCatalog'] {
  return ({ id, pageToken, credential }, { socket }, rawResponse) => {
    const parameters = new Map([['limit', pageSize]])
    if (pageToken !== undefined) parameters.set('page_token', pageToken)
    const route = {
      operation: ownOperations.listNamespaces,
      id,
      delimiter: defaultDelimiter,
      indexName: undefined,
      parameters,
    }
    const target = basePath + buildTarget(route)
    const head = createParsedRequestHead({ method: 'GET', target, version: '1.1' }, [
      'host',
      'localhost',
      ...credential,
    ])
    const request = requestWithoutBody(head, socket, addresses, () => socket.destroy())
    onRequest(request, new NodeResponse(request, rawResponse))
  }
}
