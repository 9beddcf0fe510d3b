import { randomBytes } from 'node:crypto'
import type { Identifier } from '../../src/catalog-api/identifiers.ts'
import type { OperationName } from '../../src/catalog-api/operations.ts'
import { connectTo, NotThere, type CatalogClient, type ConformanceTarget } from './catalog-client.ts'
import { rows } from './sample-rows.ts'

/** What a case works with: a client, and a namespace that no other run has. */
export interface World extends CatalogClient {
  /** Whether credentials were given, so that the catalog must let in nobody without them. */
  readonly guarded: boolean
  /** The namespace of this run. */
  readonly home: Identifier
  /** A table of three rows that no case changes. */
  readonly standing: Identifier
  /** The id of something in the namespace of this run that is not there yet. */
  readonly fresh: () => Identifier
  /** A new table of that many rows, whose ids are 0, 1, 2... */
  readonly table: (rowCount?: number) => Promise<Identifier>
  /** A new namespace. */
  readonly namespace: () => Promise<Identifier>
}

/** One case: what an operation must do. It throws where the catalog does otherwise, NotThere where it cannot. */
export interface Case {
  readonly operation: OperationName
  readonly title: string
  readonly run: Check
}

/** What a case does. */
export type Check = (world: World) => Promise<void>

/** Cases written as a table: by operation, then by title. */
export function cases(table: Partial<Record<OperationName, Readonly<Record<string, Check>>>>): Case[] {
  return Object.entries(table).flatMap(([operation, checks]) =>
    Object.entries(checks).map(([title, run]) => ({ operation: operation as OperationName, title, run })),
  )
}

/** Makes the namespace of a run, and the table that stands in it. */
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

/** Removes the namespace of a run and all that is in it. */
export async function removeWorld(client: World): Promise<void> {
  const { home } = client
  try {
    await client.ok('DropNamespace', home, { body: { behavior: 'Cascade' } })
  } catch (error) {
    if (!(error instanceof NotThere)) throw error
    await removeOneByOne(client, home)
  }
}

/** Of all behaviors, a catalog must have Restrict only. */
async function removeOneByOne(client: CatalogClient, id: Identifier): Promise<void> {
  const { tables } = await client.ok('ListTables', id)
  for (const name of tables as string[]) await client.ok('DropTable', [...id, name])
  const { namespaces } = await client.ok('ListNamespaces', id)
  for (const name of namespaces as string[]) await removeOneByOne(client, [...id, name])
  await client.ok('DropNamespace', id, { body: {} })
}
