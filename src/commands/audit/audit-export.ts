import { Option, type Command } from 'commander'
import { formatRecord } from '../../audit/formats/format-record.ts'
import { recordFormats, type RecordFormat } from '../../config/audit/record-formats.ts'
import { selectRecords, type RecordFilter } from '../../audit/query/select-records.ts'
import { folderArgument, addSelectionOptions } from './audit-options.ts'
import { runStep } from '../common/command-failure.ts'
import { newCommand } from '../common/new-command.ts'
import { printLines } from '../common/print-lines.ts'

interface ExportOptions extends RecordFilter {
  readonly format: RecordFormat
}

export function exportCommand(): Command {
  return addSelectionOptions(newCommand('export'))
    .description('print records of an audit log as JSON lines for other programs')
    .argument(...folderArgument)
    .addOption(
      new Option(
        '--format <format>',
        'output format: OCSF API Activity, CloudEvents 1.0, or the records as stored',
      )
        .choices(recordFormats)
        .makeOptionMandatory(),
    )
    .action(exportRecords)
}

async function exportRecords(folder: string, { format, ...selection }: ExportOptions): Promise<void> {
  await runStep('the audit log cannot be read', () => printLines(formatRecords(folder, selection, format)))
}

async function* formatRecords(
  folder: string,
  selection: RecordFilter,
  format: RecordFormat,
): AsyncGenerator<string> {
  for await (const { record, context } of selectRecords(folder, selection)) {
    yield formatRecord(record, format, context)
  }
}
