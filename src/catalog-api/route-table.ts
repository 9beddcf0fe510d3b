import { getOperation, operationNames, type BuiltInOperation, type Operation } from './operations.ts'

/** The routes of operations, by their paths with `{}` for each placeholder. */
export type RouteTable<Kind extends Operation = Operation> = ReadonlyMap<string, Route<Kind>>

interface Route<Kind extends Operation> {
  readonly operation: Kind
  /** The path of the operation, or one of its aliases. */
  readonly path: string
}

/** Indexes of `{id}`, `{index_name}`, `{column}` and `{row_id}` among the path segments; segment 0, before `/v1`, is empty. */
export const idSegment = 3
export const nameSegment = 5
export const rowSegment = 6
const placeholderSegments = [idSegment, nameSegment, rowSegment]
/** Stands for them in the keys of a route table. Braces are not valid in a path, so no request can contain it. */
const placeholder = '{}'

/** The routes of the catalog API, its aliases included. */
export const builtInRoutes: RouteTable<BuiltInOperation> = createRoutes(operationNames.map(getOperation))

/** Creates the routes of the catalog API and of extra operations. No two paths may unify. */
export function createRouteTable(extraOperations: readonly Operation[]): RouteTable {
  return new Map<string, Route<Operation>>([...builtInRoutes, ...createRoutes(extraOperations)])
}

function createRoutes<Kind extends Operation>(operations: readonly Kind[]): Map<string, Route<Kind>> {
  const routes = new Map<string, Route<Kind>>()
  for (const operation of operations) {
    for (const path of [operation.path, ...operation.aliases]) {
      // A request may end in a slash, whether or not the path does: `parseTarget` removes it.
      routes.set(path.replaceAll(/\{\w+\}/g, placeholder).replace(/\/$/, ''), { operation, path })
    }
  }
  return routes
}

/** Finds the route of a path without a slash at its end; undefined if there is none. */
export function findRoute<Kind extends Operation>(
  routes: RouteTable<Kind>,
  path: string,
): Route<Kind> | undefined {
  const segments = path.split('/')
  for (const index of placeholderSegments) {
    const route = routes.get(segments.join('/'))
    if (route !== undefined || segments[index] === undefined) return route
    segments[index] = placeholder
  }
  return routes.get(segments.join('/'))
}

/** Returns a segment of a path; empty if the path has fewer segments. */
export function segmentAt(path: string, segment: number): string {
  return path.split('/')[segment] ?? ''
}
