import { operationNames, type OperationName } from '../../src/catalog-api/operations.ts'
import { batchCases } from './cases/batches.ts'
import { columnCases } from './cases/columns.ts'
import { routineCases } from './cases/every-operation.ts'
import { indexCases } from './cases/indexes.ts'
import { listingCases } from './cases/listings.ts'
import { namespaceCases } from './cases/namespaces.ts'
import { rowCases } from './cases/rows.ts'
import { tableNameCases } from './cases/table-names.ts'
import { tableCases } from './cases/tables.ts'
import { tagAndBranchCases } from './cases/tags-and-branches.ts'
import { transactionCases } from './cases/transactions.ts'
import { versionCases } from './cases/versions.ts'
import { NotSupported, type ConformanceTarget } from './catalog-client.ts'
import { createFixture, removeFixture, type Case, type Fixture } from './fixture.ts'

/** The result of a case; `message` says why it did not pass. */
export interface Outcome {
  readonly operation: OperationName
  readonly title: string
  readonly result: 'passed' | 'failed' | 'skipped'
  readonly message: string
}

/** Cases are independent; a few run at a time to find concurrency errors. */
const atATime = 4

const all: readonly Case[] = [
  ...routineCases,
  ...namespaceCases,
  ...listingCases,
  ...tableCases,
  ...tableNameCases,
  ...rowCases,
  ...columnCases,
  ...versionCases,
  ...batchCases,
  ...tagAndBranchCases,
  ...indexCases,
  ...transactionCases,
].toSorted((one, other) => operationNames.indexOf(one.operation) - operationNames.indexOf(other.operation))

const last: Case = { operation: 'DropNamespace', title: 'all that a run made is removed', run: removeFixture }

/**
 * Runs every case against a running catalog, in a new namespace that is removed afterwards. Returns the outcomes in the
 * order of the table of operations. Rejects if that namespace cannot be created.
 */
export async function runConformance(target: ConformanceTarget): Promise<readonly Outcome[]> {
  const fixture = await createFixture(target)
  const outcomes: Outcome[] = []
  const left = all.entries()
  const work = async (): Promise<void> => {
    for (const [index, one] of left) outcomes[index] = await outcomeOf(one, fixture)
  }
  await Promise.all(Array.from({ length: atATime }, work))
  return [...outcomes, await outcomeOf(last, fixture)]
}

async function outcomeOf({ operation, title, run }: Case, fixture: Fixture): Promise<Outcome> {
  try {
    await run(fixture)
    return { operation, title, result: 'passed', message: '' }
  } catch (error) {
    const result = error instanceof NotSupported ? 'skipped' : 'failed'
    return { operation, title, result, message: error instanceof Error ? error.message : String(error) }
  }
}
