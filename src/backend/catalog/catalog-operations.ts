import { operationNames } from 'catalog-gateway/catalog-api'
import { columnOperations } from './columns.ts'
import { commitOperations } from './commit.ts'
import { tableCreation } from './create-table.ts'
import { indexOperations } from './indexes.ts'
import { jobOperations } from './jobs.ts'
import { namespaceOperations } from './namespaces.ts'
import type { Operations } from './operations.ts'
import { referenceOperations } from './references.ts'
import { registrations } from './register-table.ts'
import { rowOperations } from './rows.ts'
import { tableOperations } from './tables.ts'
import { versionOperations } from './versions.ts'

/** What the catalog can do. */
export const catalogOperations: Operations = {
  ...namespaceOperations,
  ...tableOperations,
  ...tableCreation,
  ...registrations,
  ...rowOperations,
  ...columnOperations,
  ...indexOperations,
  ...versionOperations,
  ...commitOperations,
  ...referenceOperations,
  ...jobOperations,
}

/** What the catalog answers with 406. */
export const unsupportedOperations = operationNames.filter((name) => !(name in catalogOperations))
