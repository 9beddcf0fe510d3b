import { randomBytes } from 'node:crypto'
import type { Identifier } from '../../src/catalog-api/identifiers.ts'
import type { OperationName } from '../../src/catalog-api/operations.ts'
import { connectTo, NotSupported, type CatalogClient, type ConformanceTarget } from './catalog-client.ts'
import { rows } from './sample-rows.ts'

/** A client, and a namespace that no other run uses. */
export interface Fixture extends CatalogClient {
  /** Whether credentials were configured, so that the catalog must refuse requests without them. */
  readonly requiresCredentials: boolean
  readonly runNamespace: Identifier
  /** A table of three rows that no case changes. */
  readonly sampleTable: Identifier
  /** Returns an unused id in the namespace of this run. */
  readonly unusedId: () => Identifier
  /** Creates a table with that many rows, with ids 0, 1, 2... */
  readonly table: (rowCount?: number) => Promise<Identifier>
  readonly namespace: () => Promise<Identifier>
}

/** One requirement of an operation. It throws if the catalog violates it, NotSupported if it cannot be tested. */
export interface Case {
  readonly operation: OperationName
  readonly title: string
  readonly run: Check
}

export type Check = (fixture: Fixture) => Promise<void>

/** Creates cases from a table: by operation, then by title. */
export function cases(table: Partial<Record<OperationName, Readonly<Record<string, Check>>>>): Case[] {
  return Object.entries(table).flatMap(([operation, checks]) =>
    Object.entries(checks).map(([title, run]) => ({ operation: operation as OperationName, title, run })),
  )
}

/** Creates the namespace of a run and its sample table. */
export async function createFixture(target: ConformanceTarget): Promise<Fixture> {
  const client = connectTo(target)
  const runNamespace = [`conformance_${randomBytes(5).toString('hex')}`]
  await client.ok('CreateNamespace', runNamespace, { body: {} })
  let made = 0
  const unusedId = (): Identifier => [...runNamespace, `n${(made += 1)}`]
  const table = async (rowCount = 3): Promise<Identifier> => {
    const id = unusedId()
    await client.ok('CreateTable', id, { body: rows(rowCount) })
    return id
  }
  const namespace = async (): Promise<Identifier> => {
    const id = unusedId()
    await client.ok('CreateNamespace', id, { body: {} })
    return id
  }
  const requiresCredentials = Object.keys(target.credentials).length > 0
  return {
    ...client,
    requiresCredentials,
    runNamespace,
    sampleTable: await table(),
    unusedId,
    table,
    namespace,
  }
}

/** Removes the namespace of a run with its content. */
export async function removeFixture(client: Fixture): Promise<void> {
  const { runNamespace } = client
  try {
    await client.ok('DropNamespace', runNamespace, { body: { behavior: 'Cascade' } })
  } catch (error) {
    if (!(error instanceof NotSupported)) throw error
    await removeOneByOne(client, runNamespace)
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
