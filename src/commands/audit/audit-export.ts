import { Option, type Command } from 'commander'
import { formatRecord } from '../../audit/formats/format-record.ts'
import { recordFormats, type RecordFormat } from '../../config/audit/record-formats.ts'
import { folderArgument, addSelectionOptions } from './audit-options.ts'
import { formatExample } from '../common/format-example.ts'
import type { Io } from '../common/io.ts'
import { newCommand } from '../common/new-command.ts'
import type { Selection } from '../../audit/query/select-records.ts'
import { printSelection } from './print-selection.ts'

interface ExportOptions extends Selection {
  readonly format: RecordFormat
}

export function exportCommand(io: Io): Command {
  return addSelectionOptions(newCommand('export', io))
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
    .addHelpText(
      'after',
      formatExample('catalog-gateway audit export .catalog-gateway/audit --format ocsf --since 1d'),
    )
    .action((folder: string, { format, ...selection }: ExportOptions, command: Command) =>
      printSelection(
        folder,
        selection,
        ({ record, context }) => [formatRecord(record, format, context)],
        command,
        io,
      ),
    )
}
