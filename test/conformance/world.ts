import { randomBytes } from 'node:crypto'
import type { Identifier } from '../../src/catalog-api/identifiers.ts'
import type { OperationName } from '../../src/catalog-api/operations.ts'
import { connectTo, type CatalogClient, type ConformanceTarget, type ReportForm } from './catalog-client.ts'
import { rows } from './sample-rows.ts'

/** The environment of a case: a client, and a namespace that no other run uses. */
export interface World extends CatalogClient {
  /** Whether credentials were configured, so that the catalog must refuse requests without them. */
  readonly guarded: boolean
  /** The namespace of this run. */
  readonly home: Identifier
  /** A table of three rows that no case changes. */
  readonly standing: Identifier
  /** Returns an unused id in the namespace of this run. */
  readonly fresh: () => Identifier
  /** Creates a table with that many rows, with ids 0, 1, 2... */
  readonly table: (rowCount?: number) => Promise<Identifier>
  /** Creates a namespace. */
  readonly namespace: () => Promise<Identifier>
}

/** One requirement of an operation. It throws if the catalog violates it, NotTestable if it cannot be tested. */
export interface Case {
  readonly operation: OperationName
  readonly title: string
  readonly run: Check
}

export type Check = (world: World) => Promise<void>

/** Creates cases from a table: by operation, then by title. */
export function cases(table: Partial<Record<OperationName, Readonly<Record<string, Check>>>>): Case[] {
  return Object.entries(table).flatMap(([operation, checks]) =>
    Object.entries(checks).map(([title, run]) => ({ operation: operation as OperationName, title, run })),
  )
}

/** The namespace of a run and what it holds. */
export type Site = Pick<World, 'guarded' | 'home' | 'standing' | 'fresh'>

/** Creates the namespace of a run and its standing table. Rejects if the namespace cannot be created. */
export async function makeSite(target: ConformanceTarget, report: ReportForm): Promise<Site> {
  const client = connectTo(target, report)
  const home = [`conformance_${randomBytes(5).toString('hex')}`]
  await client.ok('CreateNamespace', home, { body: {} })
  let made = 0
  const fresh = (): Identifier => [...home, `n${(made += 1)}`]
  const standing = fresh()
  // Without it, the cases that need it fail, and the others still run.
  await client.ok('CreateTable', standing, { body: rows(3) }).catch(() => undefined)
  const guarded = Object.keys(target.credentials).length > 0
  return { guarded, home, standing, fresh }
}

/** Creates the environment of one case. */
export function makeWorld(site: Site, target: ConformanceTarget, report: ReportForm): World {
  const client = connectTo(target, report)
  const table = async (rowCount = 3): Promise<Identifier> => {
    const id = site.fresh()
    await client.ok('CreateTable', id, { body: rows(rowCount) })
    return id
  }
  const namespace = async (): Promise<Identifier> => {
    const id = site.fresh()
    await client.ok('CreateNamespace', id, { body: {} })
    return id
  }
  return { ...client, ...site, table, namespace }
}

/** Removes the namespace of a run with its content. */
export async function removeWorld(client: World): Promise<void> {
  const { home } = client
  try {
    await client.ok('DropNamespace', home, { body: { behavior: 'Cascade' } })
  } catch {
    await removeOneByOne(client, home)
  }
}

/**
 * Restrict is the only behavior that a catalog must implement. A table that cannot be removed does not keep the others;
 * the namespace that contains it is then refused.
 */
async function removeOneByOne(client: CatalogClient, id: Identifier): Promise<void> {
  for (const name of await readNames(client, 'ListTables', 'tables', id))
    await removeTable(client, [...id, name]).catch(() => undefined)
  for (const name of await readNames(client, 'ListNamespaces', 'namespaces', id))
    await removeOneByOne(client, [...id, name]).catch(() => undefined)
  await client.ok('DropNamespace', id, { body: {} })
}

/** A table that was only declared has nothing to drop. */
async function removeTable(client: CatalogClient, id: Identifier): Promise<void> {
  await client.ok('DropTable', id).catch(() => client.ok('DeregisterTable', id, { body: {} }))
}

async function readNames(
  client: CatalogClient,
  operation: OperationName,
  member: string,
  id: Identifier,
): Promise<string[]> {
  const names: string[] = []
  let token: unknown
  do {
    const query = typeof token === 'string' ? { page_token: token } : {}
    const page = await client.ok(operation, id, { query })
    names.push(...(page[member] as string[]))
    token = page['page_token']
  } while (typeof token === 'string' && token !== '')
  return names
}
