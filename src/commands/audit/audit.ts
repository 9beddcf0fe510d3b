import type { Command } from 'commander'
import { exportCommand } from './audit-export.ts'
import { proveCommand, verifyProofCommand } from './audit-prove.ts'
import { queryCommand } from './audit-query.ts'
import { verifyCommand } from './audit-verify.ts'
import type { Io } from '../common/io.ts'
import { newCommand } from '../common/new-command.ts'

export function auditCommand(io: Io): Command {
  return newCommand('audit', io)
    .description('verify, query, export and prove an audit log')
    .addCommand(verifyCommand(io))
    .addCommand(queryCommand(io))
    .addCommand(exportCommand(io))
    .addCommand(proveCommand(io))
    .addCommand(verifyProofCommand(io))
}
