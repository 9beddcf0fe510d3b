import { findSingleHeader } from '../../http1/codec/header-fields.ts'
import type { RequestHead } from '../../http1/server/request-head.ts'
import { parseHostName } from '../../lib/http/host-name.ts'
import type { PassThroughRoute } from './pass-through-route.ts'
import { isBelowPrefix } from './pass-through-target.ts'

type RoutedHead = Pick<RequestHead, 'target' | 'headers'>

/** The routes, by host and prefix. */
export interface RouteTable {
  find(head: RoutedHead): PassThroughRoute | undefined
  /** Whether only pass-through routes are served at the host of the request: nothing else shares the origin of their pages. */
  isReserved(head: RoutedHead): boolean
}

export function createRouteTable(routes: readonly PassThroughRoute[]): RouteTable {
  const reserved = new Set(routes.flatMap(({ settings }) => settings.host ?? []))

  /** Undefined if the host is not that of a route. A request with several hosts is refused later. */
  function findHost({ headers }: RoutedHead): string | undefined {
    if (reserved.size === 0) return undefined
    const host = parseHostName(findSingleHeader(headers, 'host') ?? '')
    return reserved.has(host) ? host : undefined
  }

  return {
    find(head) {
      const host = findHost(head)
      return routes.find(
        ({ settings, paths }) => settings.host === host && isBelowPrefix(head.target, paths.prefix),
      )
    },
    isReserved: (head) => findHost(head) !== undefined,
  }
}
