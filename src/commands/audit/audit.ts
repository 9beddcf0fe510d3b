import type { Command } from 'commander'
import { exportCommand } from './audit-export.ts'
import { proveCommand, verifyProofCommand } from './audit-prove.ts'
import { queryCommand } from './audit-query.ts'
import { verifyCommand } from './audit-verify.ts'
import { newCommand } from '../common/new-command.ts'

export function auditCommand(): Command {
  return newCommand('audit')
    .description('verify, query, export and prove an audit log')
    .addCommand(verifyCommand())
    .addCommand(queryCommand())
    .addCommand(exportCommand())
    .addCommand(proveCommand())
    .addCommand(verifyProofCommand())
}
