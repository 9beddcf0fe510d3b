import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { jsonOption } from '../common/arguments.ts'
import type { Io } from '../common/io.ts'
import { formatExample } from '../common/new-command.ts'
import { whatCan, type NamespaceAccess } from '../../policy/analysis/what-can.ts'
import { createPrincipal, addCallerOptions, type CallerOptions } from './policy-options.ts'
import { noteUnknownGroups } from './note-mistakes.ts'
import { addSourceOptions, requireSources, type SourceOptions } from './policy-sources.ts'
import { formatGrants, printReport } from './format-policy.ts'

interface Options extends CallerOptions, SourceOptions {
  readonly json?: true
}

export function addWhatCan(policy: Command, io: Io): void {
  addCallerOptions(
    addSourceOptions(
      policy
        .command('what-can')
        .description('list the permissions of a caller, with objects, conditions and rules'),
    ),
  )
    .option(...jsonOption)
    .addHelpText(
      'after',
      formatExample('catalog-gateway policy what-can --policies policies --as sam --group sales-engineers'),
    )
    .action(async (options: Options) => {
      const { documents, set } = await requireSources(options, io)
      noteUnknownGroups(options, documents, io)
      const caller = createPrincipal(options)
      const entries = whatCan(set, caller)
      const lines = entries.every(({ permits }) => permits.length === 0)
        ? [`${caller.name} may do nothing`]
        : entries.flatMap(formatEntry)
      printReport(io, options.json, entries, lines)
    })
}

function formatEntry({ namespace, permits }: NamespaceAccess): readonly string[] {
  const where = namespace.length === 0 ? 'everywhere' : `${formatIdentifierText(namespace)} and beneath`
  return [`${where}${permits.length === 0 ? ': nothing' : ''}`, ...formatGrants(permits)]
}
