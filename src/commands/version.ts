import type { Command } from 'commander'
import { version } from '../version.ts'
import { printJson, printLine, type Io } from './common/io.ts'
import { jsonOption, newCommand } from './common/new-command.ts'

export function versionCommand(io: Io): Command {
  return newCommand('version', io)
    .description('print the versions of the program and of Node.js, as a bug report needs them')
    .option(...jsonOption)
    .action(({ json }: { readonly json?: true }) => {
      const { version: node, platform, arch } = process
      if (json) printJson(io, { version, node: node.slice(1), platform, arch })
      else printLine(io, `catalog-gateway ${version}, Node.js ${node.slice(1)}, ${platform} ${arch}`)
    })
}
