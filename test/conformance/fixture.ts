import { randomBytes } from 'node:crypto'
import type { Identifier } from '../../src/catalog-api/identifiers.ts'
import type { OperationName } from '../../src/catalog-api/operations.ts'
import {
  connectTo,
  type CatalogClient,
  type ConformanceTarget,
  type Parts,
  type ReportForm,
  type RunFindings,
} from './catalog-client.ts'
import { rows } from './sample-rows.ts'
import { openTableFiles, type TableFiles } from './table-files.ts'

/** A client, and a namespace that no other run uses. */
export interface Fixture extends CatalogClient {
  /** Whether credentials were configured, so that the catalog must refuse requests without them. */
  readonly requiresCredentials: boolean
  readonly findings: RunFindings
  readonly runNamespace: Identifier
  /** A table of three rows that no case changes. */
  readonly sampleTable: Identifier
  /** Returns an unused id in the namespace of this run. */
  readonly unusedId: () => Identifier
  /** Creates a table with that many rows, with ids 0, 1, 2... */
  readonly table: (rowCount?: number) => Promise<Identifier>
  readonly namespace: () => Promise<Identifier>
  /** Throws NotTestable if the files of the table cannot be reached. */
  readonly tableFiles: (id: Identifier) => Promise<TableFiles>
}

/** One requirement of an operation. It throws if the catalog violates it, NotTestable if it cannot be tested. */
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

/** The namespace of a run and its content. */
export type Site = Pick<
  Fixture,
  'requiresCredentials' | 'findings' | 'runNamespace' | 'sampleTable' | 'unusedId'
>

/** Creates the namespace of a run and its sampleTable table. Rejects if the namespace cannot be created. */
export async function createSite(target: ConformanceTarget, report: ReportForm): Promise<Site> {
  const findings: RunFindings = { ownLocations: new Set(), isGateway: false }
  const client = connectTo(target, report, findings)
  const runNamespace = [`conformance_${randomBytes(5).toString('hex')}`]
  await client.ok('CreateNamespace', runNamespace, { body: {} })
  let made = 0
  const unusedId = (): Identifier => [...runNamespace, `n${(made += 1)}`]
  const sampleTable = unusedId()
  // Without it, the cases that need it fail, and the others still run.
  await client.ok('CreateTable', sampleTable, { body: rows(3) }).catch(() => undefined)
  const requiresCredentials = Object.keys(target.credentials).length > 0
  return { requiresCredentials, findings, runNamespace, sampleTable, unusedId }
}

/** Creates the environment of one case. */
export function createFixture(site: Site, target: ConformanceTarget, report: ReportForm): Fixture {
  const client = connectTo(target, report, site.findings)
  const table = async (rowCount = 3): Promise<Identifier> => {
    const id = site.unusedId()
    await client.ok('CreateTable', id, { body: rows(rowCount) })
    return id
  }
  const namespace = async (): Promise<Identifier> => {
    const id = site.unusedId()
    await client.ok('CreateNamespace', id, { body: {} })
    return id
  }
  const tableFiles = async (id: Identifier): Promise<TableFiles> => {
    const { location } = await client.ok('DescribeTable', id)
    return openTableFiles(String(location), target.objectStore)
  }
  return { ...client, ...site, table, namespace, tableFiles }
}

/** Creates a namespace with the namespaces `b`, `a` and `C`. */
export async function createFamily({ ok, namespace }: Fixture): Promise<Identifier> {
  const id = await namespace()
  for (const name of ['b', 'a', 'C']) await ok('CreateNamespace', [...id, name], { body: {} })
  return id
}

/** Removes the namespace of a run with its content, and nothing else. */
export const removeFixture = (fixture: Fixture): Promise<void> =>
  removeNamespace(fixture, fixture.runNamespace)

/**
 * One by one: a cascade would drop what a table of the run leads to. A table that cannot be removed does not keep the
 * others; the namespace that contains it is then refused.
 */
async function removeNamespace(fixture: Fixture, id: Identifier): Promise<void> {
  for (const name of await readNames(fixture, 'ListTables', 'tables', id))
    await removeTable(fixture, [...id, name]).catch(() => undefined)
  for (const name of await readNames(fixture, 'ListNamespaces', 'namespaces', id))
    await removeNamespace(fixture, [...id, name]).catch(() => undefined)
  await fixture.ok('DropNamespace', id, { body: {} })
}

/**
 * Drops a table at a location that the catalog chose for this run. Any other is only deregistered: a catalog that should have
 * refused a location may have accepted a folder of other data. A table that was only declared has nothing to drop.
 */
async function removeTable({ ok, findings }: Fixture, id: Identifier): Promise<void> {
  const { location } = await ok('DescribeTable', id)
  const deregister = () => ok('DeregisterTable', id, { body: {} })
  if (!findings.ownLocations.has(String(location))) return void (await deregister())
  await ok('DropTable', id).catch(deregister)
}

async function readNames(
  client: CatalogClient,
  operation: OperationName,
  member: string,
  id: Identifier,
): Promise<string[]> {
  return (await readPages<string>(client, operation, member, { id })).flat()
}

/** Reads all pages of a listing with these parts of a request, such as `limit`. */
export async function readPages<Item>(
  { ok }: CatalogClient,
  operation: OperationName,
  member: string,
  { id, query, ...parts }: Parts & { readonly id: Identifier },
): Promise<Item[][]> {
  const pages: Item[][] = []
  let token: unknown
  do {
    const from = typeof token === 'string' ? { page_token: token } : {}
    const page = await ok(operation, id, { ...parts, query: { ...query, ...from } })
    pages.push(page[member] as Item[])
    token = page['page_token']
  } while (typeof token === 'string' && token !== '')
  return pages
}
