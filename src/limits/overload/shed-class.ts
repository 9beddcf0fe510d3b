import {
  operationNames,
  getOperation,
  type Operation,
  type OperationName,
} from '../../catalog-api/operations.ts'

/** What is refused under overload, in that order. */
export const shedClasses = ['bulk', 'data', 'listing'] as const

export type ShedClass = (typeof shedClasses)[number]

/**
 * The class of an operation: `bulk` carries rows as Arrow, `data` works on rows, `listing` answers pages. Everything
 * else is small and undefined here: descriptions, and changes that others wait for, such as commits, are never shed.
 */
export function getShedClass(name: OperationName): ShedClass | undefined {
  return shedClassByOperation.get(name)
}

const shedClassByOperation = new Map(operationNames.map((name) => [name, classify(getOperation(name))]))

function classify({ body, response, group, query }: Operation): ShedClass | undefined {
  if (body === 'arrow' || response === 'arrow') return 'bulk'
  if (group === 'query' || group === 'write') return 'data'
  return query.has('page_token') ? 'listing' : undefined
}
