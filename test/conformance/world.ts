import { randomBytes } from 'node:crypto'
import type { Identifier } from '../../src/catalog-api/identifiers.ts'
import type { OperationName } from '../../src/catalog-api/operations.ts'
import { connectTo, NotThere, type CatalogClient, type ConformanceTarget } from './catalog-client.ts'
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

/** One requirement of an operation. It throws if the catalog violates it, NotThere if it cannot be tested. */
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

/** Creates the namespace of a run and its standing table. */
export async function makeWorld(target: ConformanceTarget): Promise<World> {
  const client = connectTo(target)
  const home = [`conformance_${randomBytes(5).toString('hex')}`]
  await client.ok('CreateNamespace', home, { body: {} })
  let made = 0
  const fresh = (): Identifier => [...home, `n${(made += 1)}`]
  const table = async (rowCount = 3): Promise<Identifier> => {
    const id = fresh()
    await client.ok('CreateTable', id, { body: rows(rowCount) })
    return id
  }
  const namespace = async (): Promise<Identifier> => {
    const id = fresh()
    await client.ok('CreateNamespace', id, { body: {} })
    return id
  }
  const guarded = Object.keys(target.credentials).length > 0
  return { ...client, guarded, home, standing: await table(), fresh, table, namespace }
}

/** Removes the namespace of a run with its content. */
export async function removeWorld(client: World): Promise<void> {
  const { home } = client
  try {
    await client.ok('DropNamespace', home, { body: { behavior: 'Cascade' } })
  } catch (error) {
    if (!(error instanceof NotThere)) throw error
    await removeOneByOne(client, home)
  }
}

/** Restrict is the only behavior that a catalog must implement. */
async function removeOneByOne(client: CatalogClient, id: Identifier): Promise<void> {
  const { tables } = await client.ok('ListTables', id)
  for (const name of tables as string[]) await client.ok('DropTable', [...id, name])
  const { namespaces } = await client.ok('ListNamespaces', id)
  for (const name of namespaces as string[]) await removeOneByOne(client, [...id, name])
  await client.ok('DropNamespace', id, { body: {} })
}
