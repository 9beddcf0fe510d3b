import { operationNames, type OperationName } from '../../src/catalog-api/operations.ts'
import { batchCases } from './cases/batches.ts'
import { columnCases } from './cases/columns.ts'
import { routineCases } from './cases/every-operation.ts'
import { indexCases } from './cases/indexes.ts'
import { jobCases } from './cases/jobs.ts'
import { listingCases } from './cases/listings.ts'
import { namespaceCases } from './cases/namespaces.ts'
import { rowCases } from './cases/rows.ts'
import { tableNameCases } from './cases/table-names.ts'
import { tableCases } from './cases/tables.ts'
import { tagAndBranchCases } from './cases/tags-and-branches.ts'
import { versionCases } from './cases/versions.ts'
import { NotImplemented, NotTestable, type ConformanceTarget } from './catalog-client.ts'
import { createSite, createFixture, removeFixture, type Case, type Fixture } from './fixture.ts'

/**
 * `failed`: the catalog does something else than the interface requires. `missing`: it does not implement the operation,
 * or this use of it. `skipped`: it could not be tested.
 */
export type Result = 'passed' | 'failed' | 'missing' | 'skipped'

/** The result of a case; `message` says why it did not pass. */
export interface Outcome {
  readonly operation: OperationName
  readonly title: string
  readonly result: Result
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
  ...jobCases,
  ...versionCases,
  ...batchCases,
  ...tagAndBranchCases,
  ...indexCases,
].toSorted((one, other) => operationNames.indexOf(one.operation) - operationNames.indexOf(other.operation))

const routine: ReadonlySet<Case | undefined> = new Set(routineCases)

const last: Case = { operation: 'DropNamespace', title: 'all that a run made is removed', run: removeFixture }

/**
 * Runs every case against a running catalog, in a new namespace that is removed afterwards. Returns the outcomes in the
 * order of the table of operations. Rejects if that namespace cannot be created.
 */
export async function runConformance(target: ConformanceTarget): Promise<readonly Outcome[]> {
  const forms = new Map<OperationName, Set<string>>()
  const report = (operation: OperationName, message: string): void => {
    forms.set(operation, (forms.get(operation) ?? new Set()).add(message))
  }
  const site = await createSite(target, report)
  const succeeded = new Set<OperationName>()
  const run = (one: Case) =>
    outcomeOf(one, observeSuccesses(createFixture(site, target, report), one, succeeded))
  const outcomes: Outcome[] = []
  const left = all.entries()
  const work = async (): Promise<void> => {
    for (const [index, one] of left) outcomes[index] = await run(one)
  }
  await Promise.all(Array.from({ length: atATime }, work))
  outcomes.push(await run(last))
  const ofOwnCases = outcomes.filter((_, index) => !routine.has(all[index]))
  const successes = operationNames.map((name) => successOutcome(name, succeeded.has(name), ofOwnCases))
  return [...outcomes, ...successes, ...formOutcomes(forms)]
}

/** Adds the operation of a case to `succeeded` when the case receives a success of it. */
function observeSuccesses(fixture: Fixture, { operation }: Case, succeeded: Set<OperationName>): Fixture {
  const observe = (name: OperationName): void => {
    if (name === operation) succeeded.add(name)
  }
  return {
    ...fixture,
    call: async (name, id, parts) => {
      const response = await fixture.call(name, id, parts)
      if (response.status < 400) observe(name)
      return response
    },
    ok: async (name, id, parts) => {
      const members = await fixture.ok(name, id, parts)
      observe(name)
      return members
    },
  }
}

/** Errors alone do not prove that a catalog has an operation; nor do skipped cases that it lacks one. */
function successOutcome(
  operation: OperationName,
  hasSucceeded: boolean,
  outcomes: readonly Outcome[],
): Outcome {
  const success = { operation, title: 'a request succeeds' }
  if (hasSucceeded) return { ...success, result: 'passed', message: '' }
  const skipped = outcomes.find((one) => one.operation === operation && one.result === 'skipped')
  const message = 'no request of the cases of this operation has succeeded'
  return skipped === undefined
    ? { ...success, result: 'missing', message }
    : { ...success, result: 'skipped', message: `${message}: ${skipped.message}` }
}

async function outcomeOf({ operation, title, run }: Case, fixture: Fixture): Promise<Outcome> {
  try {
    await run(fixture)
    return { operation, title, result: 'passed', message: '' }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { operation, title, result: resultOf(operation, error), message }
  }
}

function resultOf(operation: OperationName, error: unknown): Result {
  if (error instanceof NotImplemented) return error.operation === operation ? 'missing' : 'skipped'
  return error instanceof NotTestable ? 'skipped' : 'failed'
}

/** A case does not end with the first response of another form, so that it still shows what the catalog does. */
function formOutcomes(forms: ReadonlyMap<OperationName, ReadonlySet<string>>): Outcome[] {
  return [...forms].map(([operation, messages]) => ({
    operation,
    title: 'every response has the form of the interface',
    result: 'failed',
    message: [...messages].slice(0, maxMessages).join('\n'),
  }))
}

const maxMessages = 10
