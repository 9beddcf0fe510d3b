import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import {
  passThroughOperation,
  type RecordFilter,
  type SelectedRecord,
  type Selection,
  selectRecords,
  skipsRecords,
  type UnknownName,
  watchNames,
} from '../../audit/index.ts'
import { findOperation, isOperationName, operationNames } from '../../catalog-api/operations.ts'
import { permissionGroups } from '../../catalog-api/permissions.ts'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import { CommandFailure, runStep } from '../common/command-failure.ts'
import { type Io, printLines } from '../common/io.ts'
import { LogProblems } from '../common/log-problems.ts'
import { printable } from './format-records.ts'

/**
 * Prints the selected records of a log. If there is none, prints nothing on standard output, and states
 * why on standard error; if records were skipped, they are then read until one has each name of the selection. Ends the command if
 * the operation is unknown; throws CommandFailure if no record of the log has the request or another name.
 */
export async function printSelection(
  folder: string,
  selection: Selection,
  format: (record: SelectedRecord) => Iterable<string>,
  command: Command,
  io: Io,
): Promise<void> {
  const { last: _last, ...filter } = selection
  const names = watchNames(filter)
  const problems = new LogProblems(io)
  let [isEmpty, selected] = [true, 0]
  const observe = (record: SelectedRecord): void => {
    isEmpty = false
    names.observe(record)
  }
  async function* lines(): AsyncGenerator<string> {
    for await (const record of selectRecords(folder, selection, observe, problems.report)) {
      selected += 1
      yield* format(record)
    }
  }
  const isPrinted = await runStep(readStep, () => printLines(io, lines()))
  if (!isPrinted) return
  if (selected > 0) return problems.assertNone()
  if (skipsRecords(filter)) {
    const isOpen = (): boolean => isEmpty || names.listUnknown().length > 0
    const all = selectRecords(folder, {}, observe, problems.report)
    if (isOpen()) await runStep(readStep, () => readWhile(all, isOpen))
  }
  if (isEmpty) throw new CommandFailure(`${folder} contains no audit log`)
  refuseUnknown(names.listUnknown(), command)
  if (filter.request !== undefined) throw new CommandFailure(describeMissingRequest(filter.request))
  const note = concernsReads(filter) ? '; reads are recorded only with audit.reads' : ''
  io.stderr.write(`no records of ${describeFilter(filter)}${note}\n`)
  problems.assertNone()
}

/** Whether an operation of the filter is a read. */
function concernsReads({ operation = '' }: RecordFilter): boolean {
  const operations = permissionGroups.get(operation) ?? [operation]
  return operations.some((name) => findOperation(name)?.effect === 'read')
}

const readStep = 'the audit log cannot be read'

async function readWhile(records: AsyncIterable<unknown>, isOpen: () => boolean): Promise<void> {
  for await (const _ of records) if (!isOpen()) return
}

function refuseUnknown(unknown: readonly UnknownName[], command: Command): void {
  for (const { criterion, name, others } of unknown) {
    const quoted = JSON.stringify(name)
    if (criterion === 'operation') {
      if (isOperationName(name) || permissionGroups.has(name) || name === passThroughOperation) continue
      const suggestion = suggestSimilar(name, [...operationNames, ...permissionGroups.keys(), ...others])
      command.error(
        printable(`error: neither the catalog API nor this log has the operation ${quoted}${suggestion}`),
      )
    }
    const suggestion = suggestName(criterion, name, others) || listFew(criterion, others)
    throw new CommandFailure(printable(`no record of this log has the ${criterion} ${quoted}${suggestion}`))
  }
}

function suggestName(criterion: UnknownName['criterion'], name: string, others: ReadonlySet<string>): string {
  const longer = [...others].find((other) => other.endsWith(`/${name}`))
  return criterion === 'table' && longer !== undefined
    ? `; did you mean "${longer}"?`
    : suggestSimilar(name, others)
}

const maxListed = 10

function listFew(criterion: string, names: ReadonlySet<string>): string {
  if (names.size === 0) return `; its records have no ${criterion}`
  if (names.size > maxListed) return ''
  const quoted = [...names].toSorted().map((name) => JSON.stringify(name))
  return `; it has ${quoted.join(', ')}`
}

function describeMissingRequest(id: string): string {
  return (
    `no record of the request ${JSON.stringify(id)}: recorded are changes, denials, rejected credentials (one of a minute), and\n` +
    'reads with audit.reads, each by the gateway that received it; look for this requestId in its log lines'
  )
}

function describeFilter(filter: RecordFilter): string {
  const { table, principal, operation, rule, denied, since, until } = filter
  const criteria = [
    denied && 'refused requests',
    table && `table ${formatIdentifierText(table)}`,
    principal !== undefined && `principal ${principal}`,
    operation !== undefined && `operation ${operation}`,
    rule !== undefined && `rule ${rule}`,
    since && `times from ${since.toISOString()} on`,
    until && `times before ${until.toISOString()}`,
  ]
  return criteria.filter(Boolean).join(', ')
}
