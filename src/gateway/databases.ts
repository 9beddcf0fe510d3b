import { refusal } from '../catalog-api/catalog-error.ts'
import { assertName, quoteForMessage, type Identifier } from '../catalog-api/identifiers.ts'
import type { GatewaySettings } from '../config/index.ts'
import type { Upstreams } from './upstream/upstreams.ts'

/** The database that stands for the root, unless the upstream of the root has a database. */
const usualRootDatabase = 'any'

/** What the databases that clients of LanceDB name stand for. */
export interface Databases {
  /**
   * Finds the namespace of a database; the root for requests without one. Throws InvalidInput (400) for a database that is
   * not served.
   */
  find(database: string | undefined): Identifier
  /**
   * Throws InvalidInput (400) for an id from the root that begins with the database of the root: its clients would find
   * the root in its place.
   */
  assertNotRoot(id: Identifier): void
}

const root: Identifier = []

export function createDatabases(setting: GatewaySettings['databases'], upstreams: Upstreams): Databases {
  const rootDatabase = upstreams.root.database ?? usualRootDatabase
  const expected = upstreams.root.database === undefined ? `"${usualRootDatabase}"` : 'that of the upstream'
  return {
    find(database) {
      if (database === undefined || database === rootDatabase) return root
      if (setting === 'namespaces') return [assertDatabaseName(database)]
      throw refusal(
        'wrong_database',
        `the database ${quoteForMessage(database)} is not served; expected ${expected}, or the setting databases: namespaces`,
      )
    },
    assertNotRoot([first]) {
      if (setting !== 'namespaces' || first !== rootDatabase) return
      throw refusal(
        'invalid_id',
        `${quoteForMessage(first)} is the database of the root for clients of LanceDB; expected another name for a namespace or a table of the root`,
      )
    },
  }
}

/** A prefix follows a slash. LanceDB's clients accept ASCII only; readers decode other bytes differently. */
function assertDatabaseName(database: string): string {
  if (database.includes('/')) {
    throw refusal(
      'wrong_database',
      `the database ${quoteForMessage(database)} has a prefix; expected one name, and ids of namespaces in it`,
    )
  }
  if (!/^[\x20-\x7e]*$/.test(database))
    throw refusal('wrong_database', `the database ${quoteForMessage(database)} is not ASCII`)
  assertName(database, 'the database')
  return database
}
