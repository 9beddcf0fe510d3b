import type { Identifier } from '../interface/identifiers.ts'
import type { OperationName } from '../interface/operations.ts'
import type { Catalog } from './catalog/catalog.ts'
import { createNamespace } from './catalog/create-namespace.ts'
import { createTable } from './catalog/create-table.ts'
import { createTableVersion } from './catalog/create-table-version.ts'
import { declareTable } from './catalog/declare-table.ts'
import { describeNamespace } from './catalog/describe-namespace.ts'
import { describeTable, requireTableExists } from './catalog/describe-table.ts'
import { dropNamespace } from './catalog/drop-namespace.ts'
import { dropTable } from './catalog/drop-table.ts'
import { listAllTables, listNamespaces, listTables } from './catalog/list.ts'
import { requireNamespace } from './catalog/lookup.ts'
import { renameTable } from './catalog/rename-table.ts'
import { countTableRows, insertIntoTable, queryTable } from './catalog/rows.ts'
import { describeTableVersion, listTableVersions } from './catalog/table-versions.ts'
import type { SchemaDialect } from './engine/engine.ts'
import { readRequest, type Members } from './request-members.ts'

/** A request that was received whole. */
interface Call {
  readonly id: Identifier
  /** What joins the parts of an id in this request. */
  readonly delimiter: string
  readonly members: Members
  /** The Arrow body; empty for operations without one. */
  readonly upload: Uint8Array
  readonly schemaDialect: SchemaDialect
}

/**
 * What answers an operation: JSON, the chunks of an Arrow file, or nothing, as the table of operations says.
 * Throws InterfaceError.
 */
type Handler = (catalog: Catalog, call: Call) => Promise<unknown>

/** The operations that this catalog has. Every other one is answered with Unsupported (406). */
export const handlers: Readonly<Partial<Record<OperationName, Handler>>> = {
  CreateNamespace: (catalog, { id, members }) =>
    createNamespace(catalog, id, readRequest('CreateNamespace', members)),
  ListNamespaces: (catalog, { id, members }) =>
    listNamespaces(catalog, id, readRequest('ListNamespaces', members)),
  DescribeNamespace: (catalog, { id, members }) => {
    readRequest('DescribeNamespace', members)
    return describeNamespace(catalog, id)
  },
  NamespaceExists: async (catalog, { id, members }) => {
    readRequest('NamespaceExists', members)
    await requireNamespace(catalog.database, id)
  },
  DropNamespace: (catalog, { id, members }) =>
    dropNamespace(catalog, id, readRequest('DropNamespace', members)),
  CreateTable: (catalog, { id, members, upload }) =>
    createTable(catalog, id, readRequest('CreateTable', members), upload),
  DeclareTable: (catalog, { id, members }) => declareTable(catalog, id, readRequest('DeclareTable', members)),
  DescribeTable: (catalog, { id, members, schemaDialect }) =>
    describeTable(catalog, id, readRequest('DescribeTable', members), schemaDialect),
  TableExists: (catalog, { id, members }) =>
    requireTableExists(catalog, id, readRequest('TableExists', members).version),
  ListTables: (catalog, { id, members }) => listTables(catalog, id, readRequest('ListTables', members)),
  ListAllTables: (catalog, { delimiter, members }) =>
    listAllTables(catalog, delimiter, readRequest('ListAllTables', members)),
  DropTable: (catalog, { id, members }) => {
    readRequest('DropTable', members)
    return dropTable(catalog, id)
  },
  RenameTable: (catalog, { id, members }) => renameTable(catalog, id, readRequest('RenameTable', members)),
  InsertIntoTable: (catalog, { id, members, upload }) =>
    insertIntoTable(catalog, id, readRequest('InsertIntoTable', members), upload),
  QueryTable: (catalog, { id, members }) => queryTable(catalog, id, readRequest('QueryTable', members)),
  CountTableRows: (catalog, { id, members }) =>
    countTableRows(catalog, id, readRequest('CountTableRows', members)),
  ListTableVersions: (catalog, { id, members }) =>
    listTableVersions(catalog, id, readRequest('ListTableVersions', members)),
  DescribeTableVersion: (catalog, { id, members }) =>
    describeTableVersion(catalog, id, readRequest('DescribeTableVersion', members)),
  CreateTableVersion: (catalog, { id, members }) =>
    createTableVersion(catalog, id, readRequest('CreateTableVersion', members)),
}
