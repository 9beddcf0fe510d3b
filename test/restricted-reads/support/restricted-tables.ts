import { runningBackend } from '../../../src/backend/test/support/running-backend.ts'
import { allowEverything } from '../../gateway/support/open-gateway.ts'
import { startGatewayBefore } from '../../gateway/support/running-gateway.ts'
import type { WrittenPolicy } from '../../policy/policy-builder.ts'
import type { TableResponses } from './find-leaks.ts'
import type { TableRequest } from './random-read.ts'
import { visibleColumns, visibleRows, type SampleTables } from './sample-tables.ts'

export interface RestrictedTables {
  /**
   * Replaces the tables; those with indexes have them on columns of the restriction, of filters and of vectors, for the
   * first part of their rows.
   */
  replace(tables: SampleTables, isIndexed: boolean): Promise<void>
  /** Sends a request about each table: as `reader`, with restrictions, or as `dev`, without. */
  send(request: TableRequest, as: 'reader' | 'dev'): Promise<TableResponses>
}

const namespaces = ['place_a', 'place_b', 'place_c'] as const

/**
 * `reader` sees the same columns of all tables. A condition that holds for all rows of `c` lets the engine plan a query as
 * it does for `a`: it refuses some orders only without a filter, or if indexes cover all of the filter.
 */
const policies: readonly WrittenPolicy[] = namespaces.map((namespace) => ({
  name: namespace,
  namespace: [namespace],
  onDeny: 403,
  restrict: [
    {
      id: 'part',
      subjects: { users: ['reader'] },
      tables: ['people'],
      columns: visibleColumns,
      rows: namespace === 'place_c' ? 'id >= 0' : visibleRows,
    },
  ],
  rules: [{ id: 'read', effect: 'allow', subjects: { users: ['reader'] }, operations: ['read'] }],
}))

/** Starts the bundled catalog behind a gateway, for one test. */
export async function startRestrictedTables(): Promise<RestrictedTables> {
  const catalog = await runningBackend()
  const gateway = await startGatewayBefore(catalog.url(), {
    users: ['reader'],
    policies: [allowEverything, ...policies],
  })
  const change = async (path: string, body: object): Promise<void> => {
    const { status, bytes } = await gateway.post(path, { body })
    if (status !== 200) throw new Error(`${path}: ${status} ${String(bytes)}`)
  }
  for (const namespace of namespaces) await change(`/v1/namespace/${namespace}/create`, {})
  const createIndexes = async (table: string): Promise<void> => {
    for (const column of ['region', 'id', 'amount', 'name']) {
      const index_type = column === 'region' ? 'BITMAP' : 'BTREE'
      await change(`${table}/create_scalar_index`, { column, index_type })
    }
    const ofVectors = { column: 'v', index_type: 'IVF_FLAT', distance_type: 'l2', target_partition_size: 10 }
    await change(`${table}/create_index`, ofVectors)
  }
  return {
    async replace(tables, isIndexed) {
      for (const [index, namespace] of namespaces.entries()) {
        const table = `/v1/table/${namespace}$people`
        const [first = Buffer.alloc(0), ...others] = [tables.a, tables.b, tables.c][index] ?? []
        await change(`${table}/create?mode=overwrite`, first)
        if (isIndexed) await createIndexes(table)
        for (const part of others) await change(`${table}/insert`, part)
      }
    },
    async send({ action, body, headers = {} }, as) {
      const [a, b, c] = await Promise.all(
        namespaces.map((name) => gateway.post(`/v1/table/${name}$people/${action}`, { as, body, headers })),
      )
      if (!a || !b || !c) throw new Error('unreachable')
      return { a, b, c }
    },
  }
}
